// The pages of operators: the condition of the server, all organizations and accounts, and the audit log.

import { AuditLog, Blank, Page, Tabs, w } from "../shared.ts";
import { Agents, Trouble, Users } from "./Accounts.tsx";
import { Connections } from "./Connections.tsx";
import { Organizations } from "./Organizations.tsx";
import { Overview } from "./Overview.tsx";
import { audit } from "./read.ts";
import { words } from "./words.ts";

const TABS: Record<string, () => preact.JSX.Element> = {
  "": Overview,
  connections: Connections,
  trouble: Trouble,
  organizations: Organizations,
  users: Users,
  agents: Agents,
  audit: () => <AuditLog ofAll text={words.auditText} read={audit} />,
};

export function Operator({ tab }: { tab: string }) {
  const Tab = Object.hasOwn(TABS, tab) && TABS[tab];
  if (!Tab) return <Blank title={w.notFound.title} text={w.notFound.text} />;
  return (
    <Page title={w.operator.title} name={[tab && words.tabs[tab], w.operator.title].filter(Boolean).join(" · ")} intro={words.intro}>
      <Tabs label={w.operator.title} tabs={Object.keys(TABS).map(name => [`/operator${name && `/${name}`}`, words.tabs[name]!, name === tab])} />
      <Tab key={tab} />
    </Page>
  );
}
