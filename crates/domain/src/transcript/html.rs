//! Transcripts as one HTML page, without scripts and external resources.

use super::document::{Block, Line, Section, Span, TextKind, on_one_line, time, visible};

/// The page up to its title. The policy has nothing loaded, should a browser find something to load.
const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>"#;

/// The page from its title to its first section.
const BODY: &str = r"</title>
<style>
:root { color-scheme: light dark; --line: #d0d7de; --soft: #57606a; --box: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --soft: #9198a1; --box: #151b23; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; break-after: avoid; }
h3 { margin: 1.5rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1rem; }
ul { margin: .25rem 0; padding-left: 1.25rem; color: var(--soft); font-size: .875rem; }
p { margin: .5rem 0 0; color: var(--soft); font-size: .875rem; }
pre { margin: .5rem 0; padding: .75rem; white-space: pre-wrap; border: 1px solid var(--line); border-radius: 6px; background: var(--box); font: inherit; }
code, pre.code { font-family: ui-monospace, monospace; font-size: .875em; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } pre { background: none; } a { color: inherit; } }
</style>
</head>
<body>
<main>
";

/// The end of the page.
const END: &str = "</main>\n</body>\n</html>\n";

pub(super) fn begin(out: &mut String, title: &str) {
    out.push_str(HEAD);
    write_escaped(out, &on_one_line(title));
    out.push_str(BODY);
}

pub(super) fn end(out: &mut String) {
    out.push_str(END);
}

pub(super) fn write(out: &mut String, section: &Section) {
    match section.message {
        Some(id) => out.extend(["<section id=\"m-", &id.to_string(), "\">\n"]),
        None => out.push_str("<section>\n"),
    }
    let tag = format!("h{}>", section.level);
    out.push('<');
    out.push_str(&tag);
    write_line(out, &section.heading);
    out.push_str("</");
    out.push_str(&tag);
    out.push('\n');
    for block in &section.blocks {
        match block {
            Block::Lines(lines) => {
                out.push_str("<ul>\n");
                for line in lines {
                    out.push_str("<li>");
                    write_line(out, line);
                    out.push_str("</li>\n");
                }
                out.push_str("</ul>\n");
            }
            Block::Text { label, text, kind } => {
                if let Some(label) = label {
                    out.push_str("<p>");
                    write_line(out, label);
                    out.push_str("</p>\n");
                }
                let is_prose = *kind == TextKind::Prose;
                // A line feed at the beginning of the element is not part of its text.
                out.push_str(if is_prose { "<pre dir=\"auto\">\n" } else { "<pre class=\"code\">\n" });
                write_escaped(out, &visible(text));
                out.push_str("</pre>\n");
            }
        }
    }
    out.push_str("</section>\n");
}

fn write_line(out: &mut String, line: &Line) {
    for span in line {
        match span {
            Span::Said(text) => write_escaped(out, text),
            Span::Written(text) => {
                out.push_str("<bdi>");
                write_escaped(out, &on_one_line(text));
                out.push_str("</bdi>");
            }
            Span::Code(text) => {
                out.push_str("<code>");
                write_escaped(out, &on_one_line(text));
                out.push_str("</code>");
            }
            Span::Time(at) => {
                out.extend(["<time datetime=\"", &at.to_string(), "\">", &time(*at), "</time>"]);
            }
            Span::Message(id) => {
                let id = id.to_string();
                out.extend(["<a href=\"#m-", &id, "\"><code>", &id, "</code></a>"]);
            }
        }
    }
}

fn write_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}
