/** A place in a file that a person edits. Lines and columns count from 1; line 0 is the file or folder as a whole. */
export interface Place {
  file: string;
  line: number;
  col: number;
}

/** Something wrong, or odd, in a file that a person edits. */
export interface Problem extends Place {
  severity: 'error' | 'warning';
  /** Which item it is about, such as `host "rack1-n3"`; empty when it is about the file. */
  subject: string;
  message: string;
}

export function formatProblem(problem: Problem): string {
  const subject = problem.subject === '' ? '' : `${problem.subject}: `;
  return `${formatPlace(problem)}: ${problem.severity}: ${subject}${problem.message}`;
}

export function formatPlace(place: Place): string {
  return place.line === 0 ? place.file : `${place.file}:${place.line}:${place.col}`;
}

export function isError(problem: Problem): boolean {
  return problem.severity === 'error';
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(isError);
}

/** Text from a file inside a message: in quotes, on one line, and of bearable length. */
export function quote(text: string): string {
  const quoted = JSON.stringify(text);
  return quoted.length > 60 ? `${quoted.slice(0, 57)}…"` : quoted;
}

/** By place, so that a person can walk through a file from top to bottom. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  return problems.toSorted(
    (a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.col - b.col,
  );
}
