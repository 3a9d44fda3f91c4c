// Short messages at the edge of the page.

import { dismiss, notices } from "../store/notices.ts";
import { w } from "../words.ts";
import { Icon } from "./Icon.tsx";

export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map(notice => (
        <div key={notice.id} class={`notice ${notice.kind}`}>
          {notice.kind === "error" && <Icon name="triangle-alert" />}
          <p>{notice.text}</p>
          {notice.action && <button type="button" class="plain" onClick={() => { notice.action!.run(); dismiss(notice.id); }}>{notice.action.label}</button>}
          <button type="button" class="quiet square" aria-label={w.close} onClick={() => dismiss(notice.id)}><Icon name="x" size={16} /></button>
        </div>
      ))}
    </div>
  );
}
