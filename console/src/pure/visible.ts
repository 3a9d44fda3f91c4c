// Characters that change how the text around them reads.

/** Controls of writing direction and zero-width characters. */
const HIDDEN = /[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

/** Shows what would otherwise be invisible, for names and code. */
export function visible(text: string): string {
  return text.replace(HIDDEN, one => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}
