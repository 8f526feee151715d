/**
 * What js-yaml says about broken YAML, in the words of somebody who edits a file and not a parser, with what to do.
 * Text of the file is shown only where it can't be a secret: a password that starts with `*` or `!` is such a fault.
 */
export function explainYamlFault(
  reason: string,
  text: string,
  offset: number,
): { message: string; offset: number } {
  const message = IN_WORDS.find(([pattern]) => pattern.test(reason))?.[1];
  if (typeof message === 'string') return { message, offset };
  return message?.(text, offset) ?? { message: reason, offset };
}

export const COLLECTION_AS_KEY = `a list or mapping can't be a key; text that starts with "{" or "[" needs quotes`;

type Explain = (text: string, offset: number) => { message: string; offset: number };

const IN_WORDS: [RegExp, string | Explain][] = [
  [/^tab characters must not/, 'a tab in the indentation; use spaces'],
  [
    /^deficient indentation/,
    'a quote or bracket that was opened above is not closed, or this line is not indented enough',
  ],
  [/within a (single|double) quoted scalar/, 'the file ends inside quoted text: a closing quote is missing'],
  [/within a flow collection/, 'the file ends inside brackets: a closing "]" or "}" is missing'],
  [/^bad indentation/, badIndentation],
  [/^duplicated mapping key/, duplicateKey],
  [
    /^unidentified alias/,
    // js-yaml points at the name, after the asterisk.
    (_text, offset) => ({
      message: 'an alias (*…) without an anchor (&…) above it; text that starts with "*" needs quotes',
      offset: offset - 1,
    }),
  ],
  [/^unknown \w+ tag/, 'a tag (!…) that is not known here; text that starts with "!" needs quotes'],
  [
    /^end of the stream or a document separator/,
    'this does not continue what stands above it: look at the indentation, and for a ":" without a space after it',
  ],
  [/multiline key/, 'expected ":" after a key here; text over several lines needs quotes'],
  [/^expected ':' after/, 'expected ":" and a space after the key'],
  [/^missed comma/, 'expected a comma here, or the closing bracket'],
  [/^expected the node content/, 'a comma with nothing before it'],
  [/complex keys/, COLLECTION_AS_KEY],
  [/^cannot merge mappings/, '"<<" takes a mapping, or a list of them, such as the alias of one'],
  [/^nesting exceeded/, 'nested too deeply: more than 100 levels'],
  [
    /^(null byte|the stream contains non-printable|expected valid JSON character)/,
    'a control character, which YAML does not allow; is this a text file?',
  ],
  [/^directives end mark/, 'text that starts with "%" needs quotes'],
];

/** js-yaml says the same about a line that is shifted and about text that can't go on as it does. */
function badIndentation(text: string, offset: number): { message: string; offset: number } {
  const lineStart = 1 + Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1));
  const before = text.slice(lineStart, offset);
  // A key that is indented too far goes on with the value above it, and the fault shows at its colon.
  const isShiftedKey = text[offset] === ':' && /^\s+[^\s"':]+$/.test(before);
  const isShifted = isShiftedKey || (before.trim() === '' && !/[@`]/.test(text[offset] ?? ''));
  if (isShifted) {
    return {
      message: 'this line is indented differently from the lines above that it belongs to',
      offset: isShiftedKey ? lineStart + before.search(/\S/) : offset,
    };
  }
  const when = 'if it contains ": " or starts with a special character';
  return { message: `unexpected text here; put the whole value in quotes ${when}`, offset };
}

function duplicateKey(text: string, offset: number): { message: string; offset: number } {
  const quoted = /["']/.test(text[offset - 1] ?? '');
  const key = /^[^\r\n"':,}\]]+/.exec(text.slice(offset, offset + 100))?.[0].trim() ?? '';
  return {
    message: `the key ${JSON.stringify(key)} is there twice in the same mapping; remove one`,
    offset: quoted ? offset - 1 : offset,
  };
}
