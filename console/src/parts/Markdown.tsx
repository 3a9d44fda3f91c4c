// Draws what `pure/markdown.ts` read. Only elements that are named here can appear.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { MOST_CHARACTERS, parse, type Element, type Node } from "../pure/markdown.ts";
import type { Mention } from "../pure/message.ts";
import { w } from "../words.ts";

/** `isPlain` leaves a text as it was typed. */
export function Markdown({ text, mentions, isPlain = false }: { text: string; mentions: Mention[]; isPlain?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const nodes = useMemo(() => (isPlain || text.length > MOST_CHARACTERS ? null : parse(text, mentions)), [text, mentions]);
  if (nodes) return <div class="md" dir="auto">{nodes.map(draw)}</div>;
  // Markers of mentions stay: such a text may have thousands.
  return (
    <div class="md" dir="auto">
      <p class="said">{isWhole ? text : text.slice(0, MOST_CHARACTERS)}</p>
      {!isWhole && text.length > MOST_CHARACTERS && <button type="button" class="link" onClick={() => setWhole(true)}>{w.room.showAll(text.length)}</button>}
    </div>
  );
}

function draw(node: Node, key: number): ComponentChildren {
  if (typeof node === "string") return node;
  const children = node.children.map(draw);
  switch (node.tag) {
    case "mention":
      return <span key={key} class={node.isOn ? "mention agent" : "mention"} title={node.title}>{children}</span>;
    case "a":
      return <a key={key} href={node.href} title={node.title} target="_blank" rel="noopener noreferrer nofollow">{children}</a>;
    case "pre":
      return <pre key={key} tabIndex={0} role="group" aria-label={w.room.code(node.label ?? "")}><code>{children}</code></pre>;
    case "table":
      return table(node, key);
    case "task":
      return <input key={key} type="checkbox" checked={node.isOn === true} disabled aria-label={node.isOn ? w.room.taskDone : w.room.taskOpen} />;
    case "ol":
      return <ol key={key} start={node.start}>{children}</ol>;
    case "br":
      return <br key={key} />;
    case "hr":
      return <hr key={key} />;
    case "plain":
      return <p key={key} class="said">{children}</p>;
    // The text in front of it may change the direction of writing.
    case "host":
      return <bdi key={key} dir="ltr" class="hint">{children}</bdi>;
    case "p": return <p key={key}>{children}</p>;
    // Headings of a message are not headings of the page.
    case "h3": return <p key={key} class="h3">{children}</p>;
    case "h4": return <p key={key} class="h4">{children}</p>;
    case "strong": return <strong key={key}>{children}</strong>;
    case "em": return <em key={key}>{children}</em>;
    case "del": return <del key={key}>{children}</del>;
    case "code": return <code key={key}>{children}</code>;
    case "blockquote": return <blockquote key={key}>{children}</blockquote>;
    case "ul": return <ul key={key}>{children}</ul>;
    case "li": return <li key={key}>{children}</li>;
  }
}

function table(node: Element, key: number): ComponentChildren {
  const [head, ...rows] = node.children as Element[];
  const cells = (row: Element): Node[][] => row.children.map(cell => (cell as Element).children);
  return (
    <div key={key} class="scroll" tabIndex={0} role="group" aria-label={w.room.table}>
      <table>
        <thead><tr>{cells(head!).map((cell, at) => <th key={at} scope="col">{cell.map(draw)}</th>)}</tr></thead>
        <tbody>{rows.map((row, at) => <tr key={at}>{cells(row).map((cell, place) => <td key={place}>{cell.map(draw)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}
