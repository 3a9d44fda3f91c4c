// From Markdown to a tree of a few harmless elements. No HTML is parsed: what looks like HTML is shown as it was typed.

import { Lexer, type Token, type Tokens } from "marked";
import { isAgentHandle, type Mention } from "./message.ts";
import { visible } from "./visible.ts";

export type Tag =
  | "p" | "h3" | "h4" | "strong" | "em" | "del" | "code" | "pre" | "blockquote" | "ul" | "ol" | "li" | "hr" | "br" | "a"
  | "table" | "mention" | "task";

export interface Element { tag: Tag; children: Node[]; href?: string; title?: string; start?: number; label?: string; isOn?: boolean }
export type Node = string | Element;

/** Longer texts are shown as they were typed. */
export const MOST_CHARACTERS = 64 * 1024;
const DEEPEST = 12;
const SAFE = /^(https?:\/\/|mailto:)/i;

export function parse(text: string, mentions: Mention[] = []): Node[] {
  const reader = new Reader(mentions);
  if (text.length > MOST_CHARACTERS) return [element("pre", [visible(text)])];
  return reader.blocks(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
}

const element = (tag: Tag, children: Node[], more: Partial<Element> = {}): Element => ({ tag, children, ...more });

/** Entities that people write; the lexer leaves them as they are. */
const ENTITIES: { [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };
function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,5}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? whole;
    const code = decimal ? Number(decimal) : parseInt(hex, 16);
    return code > 31 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

class Reader {
  constructor(private readonly mentions: Mention[]) {}

  blocks(tokens: Token[], depth: number): Node[] {
    if (depth > DEEPEST) return tokens.map(token => token.raw);
    return tokens.flatMap(token => this.block(token, depth));
  }

  private block(token: Token, depth: number): Node[] {
    switch (token.type) {
      case "space":
      case "def":
        return [];
      case "heading":
        return [element((token as Tokens.Heading).depth < 3 ? "h3" : "h4", this.inline(token.tokens, depth))];
      case "paragraph":
        return [element("p", this.inline(token.tokens, depth))];
      case "text":
        return token.tokens ? this.inline(token.tokens, depth) : this.named(decoded(token.raw));
      case "code":
        return [element("pre", [visible(token.text)], token.lang ? { label: visible(String(token.lang)) } : {})];
      case "blockquote":
        return [element("blockquote", this.blocks(token.tokens ?? [], depth + 1))];
      case "list":
        return [this.list(token as Tokens.List, depth)];
      case "table":
        return [this.table(token as Tokens.Table, depth)];
      case "hr":
        return [element("hr", [])];
      default:
        // HTML among others.
        return [element("p", this.named(token.raw.trimEnd()))];
    }
  }

  private list(list: Tokens.List, depth: number): Element {
    const items = list.items.map(item => {
      const children = this.blocks(item.tokens.filter(token => token.type !== "checkbox"), depth + 1);
      return element("li", item.task ? [element("task", [], { isOn: item.checked === true }), ...children] : children);
    });
    if (!list.ordered) return element("ul", items);
    const start = Number(list.start);
    return element("ol", items, start !== 1 && Number.isSafeInteger(start) ? { start } : {});
  }

  /** Two children: the head, and the rows below it; each row is a list of cells. */
  private table(table: Tokens.Table, depth: number): Element {
    const row = (cells: Tokens.TableCell[]) => element("li", cells.map(cell => element("p", this.inline(cell.tokens, depth))));
    return element("table", [row(table.header), ...table.rows.map(row)]);
  }

  private inline(tokens: Token[] | undefined, depth: number): Node[] {
    if (depth > DEEPEST) return (tokens ?? []).map(token => token.raw);
    return (tokens ?? []).flatMap((token): Node[] => {
      switch (token.type) {
        case "strong":
        case "em":
        case "del":
          return [element(token.type, this.inline(token.tokens, depth + 1))];
        case "codespan":
          return [element("code", [visible(token.text)])];
        case "br":
          return [element("br", [])];
        case "escape":
          return [token.text];
        case "link":
          return this.link(token.href, this.inline(token.tokens, depth + 1), token.text, token.raw);
        case "image":
          // Nothing is loaded from elsewhere.
          return this.link(token.href, [token.text || token.href], token.text, token.raw);
        case "text":
          return token.tokens ? this.inline(token.tokens, depth + 1) : this.named(decoded(token.raw));
        case "checkbox":
          return [];
        default:
          return this.named(token.raw);
      }
    });
  }

  private link(href: string, children: Node[], text: string, raw: string): Node[] {
    if (!SAFE.test(href)) return this.named(raw);
    // A link whose text is the name of another host says where it leads.
    const host = /^https?:\/\/([^/?#]+)/i.exec(href)?.[1]?.toLowerCase();
    const shown = /^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})/i.exec(text.trim())?.[1]?.toLowerCase();
    const isMisleading = host && shown && host.replace(/^.*@/, "").replace(/^www\.|:\d+$/g, "") !== shown.replace(/^www\./, "");
    return [element("a", isMisleading ? [...children, ` (${host})`] : children, { href, title: href })];
  }

  /** Markers of mentions become names. */
  private named(text: string): Node[] {
    return text.split(/(@\[\[[0-9a-f-]{36}\]\])/).flatMap((part): Node[] => {
      const id = /^@\[\[(.*)\]\]$/.exec(part)?.[1];
      if (!id) return part ? [part] : [];
      const one = this.mentions.find(mention => mention.id === id);
      const title = one ? `@${one.handle}` : id;
      return [element("mention", [`@${visible(one?.name ?? "unknown")}`], { title, isOn: one ? isAgentHandle(one.handle) : false })];
    });
  }
}

/** The text without markup, on one line, for previews. */
export function plain(text: string, mentions: Mention[] = [], most = 140): string {
  const named = text.replace(/@\[\[([0-9a-f-]{36})\]\]/g, (_, id) => `@${mentions.find(one => one.id === id)?.name ?? "unknown"}`);
  const line = named.replace(/[*_`#>|]+/g, "").replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
