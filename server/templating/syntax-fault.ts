/** What Handlebars' parser says, in the words of somebody who edits a template. */
export function explainSyntax(error: Error & { lineNumber?: number; column?: number }): {
  line: number;
  col: number;
  message: string;
} {
  if (error instanceof RangeError) {
    return { line: 1, col: 1, message: 'not a valid template: blocks are nested too deeply' };
  }
  const parse = /^Parse error on line (\d+):[\s\S]*got '(\w+)'/.exec(error.message);
  if (parse !== null) {
    return {
      line: Number(parse[1]),
      col: 1,
      message: `not a valid template: ${UNEXPECTED[parse[2]!] ?? OTHER}`,
    };
  }
  const lexical = /^Lexical error on line (\d+)/.exec(error.message);
  if (lexical !== null)
    return { line: Number(lexical[1]), col: 1, message: `not a valid template: ${OTHER}` };
  // "if doesn't match each - 3:4": the place is told apart from the text.
  const [message] = error.message.split(' - ');
  return {
    line: error.lineNumber ?? 1,
    col: (error.column ?? 0) + 1,
    message: `not a valid template: ${message}`,
  };
}

const OTHER = 'this tag ({{…}}) can not be understood';

const UNEXPECTED: Readonly<Record<string, string>> = {
  EOF: 'a block ({{#…}}) is not closed by {{/…}} before the file ends',
  OPEN_ENDBLOCK: '{{/…}} closes a block that was not opened',
  INVERSE: '{{else}} stands outside of a block',
  INVALID: 'a tag ({{…}}) is not closed, or contains a character that it may not',
  CLOSE_UNESCAPED: 'three braces (}}}) close a tag that two have opened; put a space between }} and }',
  CLOSE: 'a tag ({{…}}) ends too early',
};
