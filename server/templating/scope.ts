import { didYouMean } from '../document/nearest.ts';
import { isRecord } from '../document/shape.ts';
import { TemplateFault } from './fault.ts';
import type { PathExpression } from './nodes.ts';

/** What names mean at one point of a template. */
export interface Scope {
  context: unknown;
  root: unknown;
  /** What `../` leads to. */
  parent: Scope | undefined;
  /** Block parameters (`as |item index|`), innermost first. */
  names: Names | undefined;
  loop: Loop | undefined;
}

interface Names {
  own: ReadonlyMap<string, unknown>;
  outer: Names | undefined;
}

/** `@index` and its kin. */
interface Loop {
  index: number;
  key: string | number;
  first: boolean;
  last: boolean;
  outer: Loop | undefined;
}

export function rootScope(values: unknown): Scope {
  return { context: values, root: values, parent: undefined, names: undefined, loop: undefined };
}

/** Inside `#with` and `#each`. */
export function innerScope(
  scope: Scope,
  context: unknown,
  names: ReadonlyMap<string, unknown> | undefined,
  loop?: Omit<Loop, 'outer'>,
): Scope {
  return {
    context,
    root: scope.root,
    parent: scope,
    names: names === undefined ? scope.names : { own: names, outer: scope.names },
    loop: loop === undefined ? scope.loop : { ...loop, outer: scope.loop },
  };
}

/** Inside a partial: it sees its context, and nothing of the block that it is included from. */
export function partialScope(scope: Scope, context: unknown): Scope {
  return { context, root: scope.root, parent: undefined, names: undefined, loop: scope.loop };
}

/** What a path stands for. A name that isn't there is a fault, unless `mayLack` lets the last one be missing. */
export function resolve(path: PathExpression, scope: Scope, mayLack = false): unknown {
  const start = startOf(path, scope);
  let value = start.value;
  const last = path.parts.length - 1;
  for (let at = start.used; at <= last; at++) {
    const name = path.parts[at]!;
    if (isThere(value, name)) {
      value = (value as Record<string, unknown>)[name];
      continue;
    }
    if (mayLack && at === last && (value === null || value === undefined || typeof value === 'object')) {
      return undefined;
    }
    throw new TemplateFault(path.place, explainMissing(path, value, name, at));
  }
  return value;
}

function startOf(path: PathExpression, scope: Scope): { value: unknown; used: number } {
  if (path.isData) return dataOf(path, scope);
  let from = scope;
  for (let up = path.up; up > 0; up--) {
    if (from.parent === undefined) {
      throw new TemplateFault(
        path.place,
        `"${path.shown}" leads out of the template: there are fewer blocks around`,
      );
    }
    from = from.parent;
  }
  const first = path.parts[0];
  if (path.up === 0 && !path.isScoped && first !== undefined) {
    for (let names = scope.names; names !== undefined; names = names.outer) {
      if (names.own.has(first)) return { value: names.own.get(first), used: 1 };
    }
  }
  return { value: from.context, used: 0 };
}

const LOOP_NAMES = ['index', 'key', 'first', 'last'] as const;

function dataOf(path: PathExpression, scope: Scope): { value: unknown; used: number } {
  const name = path.parts[0] ?? '';
  if (name === 'root' && path.up === 0) return { value: scope.root, used: 1 };
  const known = LOOP_NAMES.find((candidate) => candidate === name);
  if (known === undefined) {
    const all = ['root', ...LOOP_NAMES];
    throw new TemplateFault(path.place, `unknown name "@${name}"${didYouMean(name, all)}`);
  }
  let loop = scope.loop;
  for (let up = path.up; up > 0; up--) loop = loop?.outer;
  if (loop === undefined)
    throw new TemplateFault(path.place, `"${path.shown}" has a meaning only inside #each`);
  return { value: loop[known], used: 1 };
}

/** Own properties only: a template sees data, never a method or a prototype. */
function isThere(value: unknown, name: string): boolean {
  if (Array.isArray(value)) return name === 'length' || (/^\d+$/.test(name) && Number(name) < value.length);
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

function explainMissing(path: PathExpression, container: unknown, name: string, at: number): string {
  const before = path.parts.slice(0, at).join('.');
  const of = before === '' ? '' : ` in "${before}"`;
  if (container === null || container === undefined) {
    return before === ''
      ? `"${name}": there are no values here`
      : `"${before}" has no value, so it has no "${name}"`;
  }
  if (Array.isArray(container)) {
    return `"${name}"${of}: it is a list of ${container.length}; use #each, or an index`;
  }
  if (!isRecord(container)) return `unknown name "${name}"${of}: that is no mapping`;
  const known = Object.keys(container);
  const guess = didYouMean(name, known);
  if (guess !== '') return `unknown name "${name}"${of}${guess}`;
  const shown = known.length > 12 ? [...known.slice(0, 12), '…'] : known;
  return `unknown name "${name}"${of}; ${known.length === 0 ? 'nothing is known there' : `known: ${shown.join(', ')}`}`;
}
