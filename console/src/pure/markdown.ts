// From Markdown to a tree of a few harmless elements. No HTML is parsed: what looks like HTML is shown as it was typed.

import { Lexer, type Token, type Tokens } from "marked";
import { isAgentHandle, type Mention } from "./message.ts";
import { visible } from "./visible.ts";

export type Tag =
  | "p" | "h3" | "h4" | "strong" | "em" | "del" | "code" | "pre" | "blockquote" | "ul" | "ol" | "li" | "hr" | "br" | "a"
  | "table" | "mention" | "task" | "host" | "plain";

export interface Element { tag: Tag; children: Node[]; href?: string; title?: string; start?: number; label?: string; isOn?: boolean }
export type Node = string | Element;

/** Longer texts are shown as they were typed; the lexer needs time by the square of their length. */
export const MOST_CHARACTERS = 20_000;
const MOST_CELLS = 5000;
const MOST_EMPHASIS = 1000;
const DEEPEST = 12;
const SAFE = /^(https?:\/\/|mailto:)/i;

export function parse(text: string, mentions: Mention[] = []): Node[] {
  const reader = new Reader(mentions);
  if (text.length <= MOST_CHARACTERS && isTame(text)) {
    try {
      return reader.blocks(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
    } catch { /* Too deep for the lexer: it calls itself at each level. */ }
  }
  return [reader.plain(text)];
}

/** Whether a text takes the lexer little time and space: no line of many quotes or lists, no huge table, no endless emphasis. */
function isTame(text: string): boolean {
  if (/^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])){51}/m.test(text)) return false;
  const lines = text.split("\n");
  let columns = 0;
  for (const line of lines) if (/^[ \t>|:-]*$/.test(line) && line.includes("-")) columns = Math.max(columns, line.split("|").length);
  // Every row of a table has as many cells as its head.
  if (columns > 1 && columns * lines.length > MOST_CELLS) return false;
  return text.split(/\n[ \t]*\n/).every(part => part.length <= MOST_EMPHASIS || part.replace(/[^_*~]+/g, "").length <= MOST_EMPHASIS);
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

const flat = (nodes: Node[]): string => nodes.map(node => (typeof node === "string" ? node : flat(node.children))).join("");

class Reader {
  constructor(private readonly mentions: Mention[]) {}

  blocks(tokens: Token[], depth: number): Node[] {
    if (depth > DEEPEST) return tokens.map(token => token.raw);
    return tokens.flatMap(token => this.#block(token, depth));
  }

  #block(token: Token, depth: number): Node[] {
    switch (token.type) {
      case "space":
      case "def":
        return [];
      case "heading":
        return [element((token as Tokens.Heading).depth < 3 ? "h3" : "h4", this.#inline(token.tokens, depth))];
      case "paragraph":
        return [element("p", this.#inline(token.tokens, depth))];
      case "text":
        return token.tokens ? this.#inline(token.tokens, depth) : this.#named(decoded(token.raw));
      case "code":
        return [element("pre", [visible(token.text)], token.lang ? { label: visible(String(token.lang)) } : {})];
      case "blockquote":
        return [element("blockquote", this.blocks(token.tokens ?? [], depth + 1))];
      case "list":
        return [this.#list(token as Tokens.List, depth)];
      case "table":
        return [this.#table(token as Tokens.Table, depth)];
      case "hr":
        return [element("hr", [])];
      default:
        // HTML among others.
        return [element("p", this.#named(token.raw.trimEnd()))];
    }
  }

  #list(list: Tokens.List, depth: number): Element {
    const items = list.items.map(item => {
      const children = this.blocks(item.tokens.filter(token => token.type !== "checkbox"), depth + 1);
      return element("li", item.task ? [element("task", [], { isOn: item.checked === true }), ...children] : children);
    });
    if (!list.ordered) return element("ul", items);
    const start = Number(list.start);
    return element("ol", items, start !== 1 && Number.isSafeInteger(start) ? { start } : {});
  }

  /** Two children: the head, and the rows below it; each row is a list of cells. */
  #table(table: Tokens.Table, depth: number): Element {
    const row = (cells: Tokens.TableCell[]) => element("li", cells.map(cell => element("p", this.#inline(cell.tokens, depth))));
    return element("table", [row(table.header), ...table.rows.map(row)]);
  }

  #inline(tokens: Token[] | undefined, depth: number): Node[] {
    if (depth > DEEPEST) return (tokens ?? []).map(token => token.raw);
    return (tokens ?? []).flatMap((token): Node[] => {
      switch (token.type) {
        case "strong":
        case "em":
        case "del":
          return [element(token.type, this.#inline(token.tokens, depth + 1))];
        case "codespan":
          return [element("code", [visible(token.text)])];
        case "br":
          return [element("br", [])];
        case "escape":
          return [token.text];
        case "link":
          return this.#link(token.href, this.#inline(token.tokens, depth + 1), token.raw);
        case "image":
          // Nothing is loaded from elsewhere.
          return this.#link(token.href, [token.text || token.href], token.raw);
        case "text":
          return token.tokens ? this.#inline(token.tokens, depth + 1) : this.#named(decoded(token.raw));
        case "checkbox":
          return [];
        default:
          return this.#named(token.raw);
      }
    });
  }

  /** The text as it was typed, with the names of mentions. */
  plain(text: string): Element {
    return element("plain", this.#named(text));
  }

  /** A link says where it leads, unless its text does. */
  #link(href: string, children: Node[], raw: string): Node[] {
    const target = SAFE.test(href) && URL.canParse(href) ? new URL(href) : null;
    if (!target) return this.#named(raw);
    const text = flat(children);
    const shown = children.map(child => (typeof child === "string" ? visible(child) : child));
    const place = target.protocol === "mailto:" ? target.pathname : target.host;
    const bare = text.replace(/^(https?:\/\/|mailto:)/i, "").toLowerCase();
    const isItself = (text === href || href === `${target.protocol}${target.host && "//"}${text}`)
      && bare.startsWith(place.toLowerCase()) && /^([/?#]|$)/.test(bare.slice(place.length)) && visible(text) === text;
    return [element("a", isItself ? shown : [...shown, " ", element("host", [`(${visible(place)})`])], { href, title: href })];
  }

  /** Markers of mentions become names. */
  #named(text: string): Node[] {
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
  // Markup takes some room, and markers of mentions more than the names.
  const named = text.slice(0, most * 8).replace(/@\[\[([0-9a-f-]{36})\]\]/g, (_, id) => `@${mentions.find(one => one.id === id)?.name ?? "unknown"}`);
  const line = named.replace(/[*_`#>|]+/g, "").replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
