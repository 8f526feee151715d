import type { Place, Problem } from '../document/problem.ts';

/** Something wrong in a template, or in what it was given. Thrown inside this room only; callers get a `Problem`. */
export class TemplateFault extends Error {
  override readonly name = 'TemplateFault';
  readonly place: Place;

  constructor(place: Place, message: string) {
    super(message);
    this.place = place;
  }
}

export function problemAt({ file, line, col }: Place, message: string): Problem {
  return { severity: 'error', file, line, col, subject: '', message };
}

/** Runs `work`; a fault in it becomes its problem. */
export function orProblem<T extends object>(work: () => T): T | { problems: Problem[] } {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    return { problems: [problemAt(error.place, error.message)] };
  }
}
