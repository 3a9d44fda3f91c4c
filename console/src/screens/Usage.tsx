// What the caller's agents have used.

import { Page } from "../parts/Page.tsx";
import { Usage } from "../parts/Usage.tsx";
import { w } from "../words.ts";

export function OwnUsage() {
  return (
    <Page title={w.usage.title} intro={w.usage.intro} back="/agents">
      <section class="sheet"><Usage groups={["agent", "room", "tree", "day", "model"]} /></section>
    </Page>
  );
}
