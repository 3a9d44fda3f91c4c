import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_CHARACTERS, parse, plain, type Element, type Node } from "./markdown.ts";

const ECHO = { id: "01a2172d-b3b9-7a18-9e49-f2bc38f6951d", handle: "ann/echo", name: "Echo", kind: "mention" as const };
const TAGS = new Set(["p", "h3", "h4", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "br", "a", "table", "mention", "task", "host", "plain"]);

function* elements(nodes: Node[]): Generator<Element> {
  for (const node of nodes) {
    if (typeof node === "string") continue;
    yield node;
    yield* elements(node.children);
  }
}
const words = (nodes: Node[]): string => nodes.map(node => (typeof node === "string" ? node : words(node.children))).join("");
const tags = (text: string): string => [...elements(parse(text))].map(one => one.tag).join(" ");

test("reads what people write", () => {
  assert.equal(tags("# Title\n\ntext **bold** *it* ~~no~~ `code`"), "h3 p strong em del code");
  assert.equal(tags("- [x] done\n- open"), "ul li task li");
  assert.equal(tags("3. three"), "ol li");
  assert.equal([...elements(parse("3. three"))][0]!.start, 3);
  assert.equal(tags("a\nb"), "p br");
  assert.equal(tags("> q\n\n---"), "blockquote p hr");
  assert.equal(tags("| a | b |\n|---|---|\n| 1 | 2 |"), "table li p p li p p");
  assert.equal(words(parse("a &amp; b &lt;i&gt; &#65; &nope;")), "a & b <i> A &nope;");
  assert.equal(words(parse("- [x] done")), "done");
});

test("mentions become names, and only known ones", () => {
  assert.equal(words(parse(`@[[${ECHO.id}]] hi`, [ECHO])), "@Echo hi");
  assert.equal(words(parse(`@[[${ECHO.id}]] hi`, [])), "@unknown hi");
  assert.equal(tags(`@[[${ECHO.id}]]`), "p mention");
});

test("HTML is shown as it was typed", () => {
  assert.equal(words(parse("<b>x</b> <img src=x onerror=alert(1)>")), "<b>x</b> <img src=x onerror=alert(1)>");
  assert.equal(tags("<script>alert(1)</script>"), "p");
});

test("links lead to http, https, and mail only; misleading ones show their host", () => {
  const hrefs = (text: string): string[] => [...elements(parse(text))].flatMap(one => (one.href ? [one.href] : []));
  assert.deepEqual(hrefs("[a](javascript:alert(1)) [b](data:text/html,x) [c](vbscript:x) <javascript:x> [d](//evil.example) [e](/path)"), []);
  assert.deepEqual(hrefs("[a](HTTPS://ok.example) <mailto:a@b.example> https://auto.example"), ["HTTPS://ok.example", "mailto:a@b.example", "https://auto.example"]);
  assert.equal(words(parse("[bank.example](https://evil.example/x)")), "bank.example (evil.example)");
  assert.equal(words(parse("[bank.example](https://bank.example@evil.example/x)")).includes("evil.example"), true);
  assert.equal(words(parse("[www.bank.example](https://bank.example/x)")), "www.bank.example (bank.example)");
  // What browsers take for another host than people do.
  for (const hostile of ["[bank.example](https://evil.example\\\\@bank.example)", "[b\u200bank.example](https://evil.example/)", "[**bank**.example](https://evil.example/)",
    "[https://bank.example@evil.example](https://bank.example@evil.example)", "[bank.example](https:evil.example)", "[our bank](https://evil.example)", "[https://bank.example](https://evil.example)", "[\u202egro.elpmaxe](https://evil.example)"]) {
    const [link] = [...elements(parse(hostile))].filter(one => one.tag === "a");
    if (!link) continue;
    assert.equal(words(link.children.slice(-1)), `(${new URL(link.href!).host})`, hostile);
    assert.equal(new URL(link.href!).host, "evil.example", hostile);
  }
  // A text that is the address itself says enough.
  for (const honest of ["https://ok.example/path?x#y", "www.ok.example/path", "<https://ok.example>", "[https://ok.example/](https://ok.example/)", "ann@ok.example", "<mailto:a@b.example>"]) {
    const all = [...elements(parse(honest))];
    assert.deepEqual([all.filter(one => one.tag === "a").length, all.filter(one => one.tag === "host").length], [1, 0], honest);
  }
  assert.equal(words(parse("[support](mailto:thief@evil.example?subject=x)")), "support (thief@evil.example)");
  // An image is a link: nothing is loaded from elsewhere.
  assert.equal(tags("![x](https://tracker.example/p.png)"), "p a host");
});

/** What would take the lexer seconds, gigabytes, or all of its stack. */
const HEAVY: { [name: string]: string } = {
  long: "x".repeat(MOST_CHARACTERS + 1),
  quotes: ">".repeat(5000),
  lists: "- ".repeat(5000),
  numbers: "1. ".repeat(5000) + "x",
  table: `${"|".repeat(1500)}\n${"|-".repeat(1500)}|\n${"|\n".repeat(4900)}`,
  quotedTable: `> ${"|a".repeat(400)}\n> ${"|-".repeat(400)}\n${"> |\n".repeat(4900)}`,
  emphasis: "_a".repeat(9900),
};

test("heavy texts are shown as they were typed, at once", () => {
  for (const [name, text] of Object.entries(HEAVY)) {
    const begun = process.cpuUsage();
    const nodes = parse(text);
    assert.deepEqual(nodes.map(node => (node as Element).tag), ["plain"], name);
    assert.equal(words(nodes), text, name);
    // Time of the processor, which a busy machine hardly changes.
    assert.ok(process.cpuUsage(begun).user < 1_000_000, name);
  }
  // With mentions.
  assert.equal(words(parse(`${">".repeat(60)} @[[${ECHO.id}]]`, [ECHO])), `${">".repeat(60)} @Echo`);
  // As people write them, quotes, tables, rules, and emphasis are drawn.
  assert.equal(tags(">".repeat(6) + " q").includes("blockquote"), true);
  assert.equal(tags(`| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(500)}`).startsWith("table"), true);
  assert.equal(tags("-".repeat(120)), "hr");
  assert.equal(tags("snake_case_name *it*\n\n".repeat(400)).startsWith("p em"), true);
});

test("whatever the lexer does, a text is drawn", () => {
  const nested = Array.from({ length: 190 }, (_, at) => `${" ".repeat(at)}> ${" ".repeat(at % 3)}- x`).join("\n").slice(0, MOST_CHARACTERS);
  assert.ok(parse(nested).length > 0);
  assert.ok(parse("[".repeat(9000) + "*".repeat(900) + "a".repeat(9000)).length > 0);
  assert.ok(parse("*a **b ".repeat(300)).length > 0);
});

test("deep texts are bounded", () => {
  let deepest = 0;
  const depth = (nodes: Node[], at: number): void => nodes.forEach(node => { if (typeof node !== "string") { deepest = Math.max(deepest, at); depth(node.children, at + 1); } });
  depth(parse("> ".repeat(50) + "deep"), 1);
  assert.ok(deepest > 10 && deepest < 40, String(deepest));
});

test("a thousand hostile texts give known elements with known members", () => {
  const parts = ["<img src=x onerror=probe()>", "<svg onload=probe()>", "[x](javascript:probe())", "[x](java\nscript:probe())", "<iframe srcdoc='<script>'>", "![x](https://a.example/b.png)",
    "`", "**", "_", "> ", "\n", "- ", "1. ", "| a |\n|-|\n", "@[[01a2172d-b3b9-7a18-9e49-f2bc38f6951d]]", "&#x3c;script&#x3e;", "\u202e", "[x]: javascript:probe()\n", "[x][x]", "<a href=\"javascript:probe()\">", "# ", "***", "~~~\n", "\\", "<!--", "]]>", "[", "](", ")"];
  let state = 7;
  const roll = (most: number): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % most;
  for (let count = 0; count < 1000; count++) {
    const text = Array.from({ length: 1 + roll(14) }, () => parts[roll(parts.length)]).join("");
    for (const one of elements(parse(text, [ECHO]))) {
      assert.ok(TAGS.has(one.tag), text);
      assert.ok(Object.keys(one).every(name => ["tag", "children", "href", "title", "start", "label", "isOn"].includes(name)), text);
      if (one.href !== undefined) assert.match(one.href, /^(https?:\/\/|mailto:)/i, text);
    }
  }
});

test("previews are one line", () => {
  assert.equal(plain(`@[[${ECHO.id}]] **hello**\n\nworld`, [ECHO]), "@Echo hello world");
  assert.equal(plain("x".repeat(200)).length, 140);
  const begun = process.cpuUsage();
  assert.equal(plain("_x ".repeat(2_000_000)).length, 140);
  assert.ok(process.cpuUsage(begun).user < 500_000);
});
