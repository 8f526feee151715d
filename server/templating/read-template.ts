import Handlebars from 'handlebars';
import { didYouMean } from '../document/nearest.ts';
import type { Place } from '../document/problem.ts';
import { TemplateFault } from './fault.ts';
import { HELPERS } from './helpers.ts';
import { DEFAULT_TEMPLATE_LIMITS } from './limits.ts';
import type { CallExpression, Expression, IncludeNode, Node, PathExpression, TextNode } from './nodes.ts';
import { advance } from './places.ts';
import { explainSyntax } from './syntax-fault.ts';

/** A template that was read and may be run. */
export interface Template {
  file: string;
  nodes: readonly Node[];
  /** Every partial that it may include, wherever that stands in it. */
  includes: readonly IncludeNode[];
}

type Ast = hbs.AST.Node;
type Params = { params: hbs.AST.Expression[]; hash?: hbs.AST.Hash };

/** Marks where a value goes; see `yaml-output.ts`. */
const NUL = '\0';

/** Parses a template with Handlebars' own parser and keeps what is allowed here. Throws `TemplateFault`. */
export function readTemplate(file: string, source: string): Template {
  const nul = source.indexOf(NUL);
  if (nul >= 0) {
    const line = source.slice(0, nul).split('\n').length;
    throw new TemplateFault({ file, line, col: 1 }, 'a NUL character; is this a text file?');
  }
  refuseDeepNesting(file, source);
  return new Reader(file, source).read();
}

/** Handlebars' parser takes seconds for some thousand blocks in each other, so they are counted before. */
function refuseDeepNesting(file: string, source: string): void {
  let depth = 0;
  for (const { 0: tag, index } of source.matchAll(/\{\{~?[#/]/g)) {
    depth += tag.endsWith('#') ? 1 : -1;
    if (depth <= DEFAULT_TEMPLATE_LIMITS.maxDepth) continue;
    const place = advance({ file, line: 1, col: 1 }, source, index);
    throw new TemplateFault(place, `more than ${DEFAULT_TEMPLATE_LIMITS.maxDepth} blocks in each other`);
  }
}

class Reader {
  readonly #file: string;
  readonly #source: string;
  readonly #lines: string[];
  readonly #includes: IncludeNode[] = [];

  constructor(file: string, source: string) {
    this.#file = file;
    this.#source = source;
    this.#lines = source.split('\n');
  }

  read(): Template {
    const program = this.#parse();
    const nodes = this.#nodes(program.body);
    return { file: this.#file, nodes, includes: this.#includes };
  }

  #parse(): hbs.AST.Program {
    try {
      return Handlebars.parse(this.#source);
    } catch (error) {
      const { line, col, message } = explainSyntax(error as Error);
      throw new TemplateFault({ file: this.#file, line: Math.max(1, line), col }, message);
    }
  }

  #nodes(body: readonly Ast[] | undefined): Node[] {
    const nodes: Node[] = [];
    for (const statement of body ?? []) {
      const node = this.#node(statement);
      if (node !== undefined) nodes.push(node);
    }
    return nodes;
  }

  #node(node: Ast): Node | undefined {
    switch (node.type) {
      case 'ContentStatement':
        return this.#text(node as hbs.AST.ContentStatement);
      case 'CommentStatement':
        return undefined;
      case 'MustacheStatement':
        return this.#value(node as hbs.AST.MustacheStatement);
      case 'BlockStatement':
        return this.#block(node as hbs.AST.BlockStatement);
      case 'PartialStatement':
        return this.#include(node as hbs.AST.PartialStatement);
      case 'PartialBlockStatement':
        return this.#refuse(node, 'partials with a block ({{#> …}}) are not supported; use {{> …}}');
      default:
        return this.#refuse(node, 'inline partials and decorators ({{#*…}}) are not supported');
    }
  }

  #text(node: hbs.AST.ContentStatement): TextNode | undefined {
    const text = node.value;
    if (text === '') return undefined;
    // The type says otherwise, but `original` is the text before white space around tags was taken away.
    const original = node.original as unknown as string;
    return {
      kind: 'text',
      text,
      place: advance(this.#place(node), original, strippedBefore(original, text)),
    };
  }

  #value(node: hbs.AST.MustacheStatement): Node {
    const { line, column } = node.loc.end;
    const whole = this.#slice(node.loc.start, { line, column });
    const isCall = node.params.length > 0 || (node.hash?.pairs.length ?? 0) > 0;
    const expression = isCall
      ? this.#call(node, node.path as hbs.AST.PathExpression)
      : this.#expression(node.path);
    return { kind: 'value', expression, shown: whole, place: this.#place(node) };
  }

  #block(node: hbs.AST.BlockStatement): Node {
    const place = this.#place(node);
    const name = node.path.original;
    const known = ['if', 'unless', 'each', 'with'];
    if (!known.includes(name)) {
      const hint = didYouMean(name, known) || '; blocks are #if, #unless, #each and #with';
      return this.#refuse(node, `unknown block "${name}"${hint}`);
    }
    const [subject, ...more] = node.params;
    if (subject === undefined || more.length > 0)
      return this.#refuse(node, `#${name} takes exactly one value`);
    if ((node.hash?.pairs.length ?? 0) > 0) return this.#refuse(node, `#${name} takes no options`);
    const expression = this.#expression(subject);
    const body = this.#nodes(node.program?.body);
    const otherwise = this.#nodes(node.inverse?.body);
    const params = node.program?.blockParams ?? [];
    if (name === 'each') return { kind: 'each', list: expression, params, body, otherwise, place };
    if (name === 'with') return { kind: 'with', context: expression, params, body, otherwise, place };
    if (params.length > 0) return this.#refuse(node, `#${name} gives no names`);
    return { kind: 'if', test: expression, isUnless: name === 'unless', body, otherwise, place };
  }

  #include(node: hbs.AST.PartialStatement): IncludeNode {
    const name = node.name as unknown as { type: string; original?: unknown; value?: unknown };
    if (name.type === 'SubExpression') return this.#refuse(node, 'the name of a partial must be written out');
    const [context, ...more] = node.params;
    if (more.length > 0) return this.#refuse(node, 'a partial takes one context at most');
    const include: IncludeNode = {
      kind: 'include',
      name: String(name.value ?? name.original),
      context: context === undefined ? undefined : this.#expression(context),
      named: (node.hash?.pairs ?? []).map(({ key, value }) => [key, this.#expression(value)] as const),
      indent: node.indent ?? '',
      isOwnLine: this.#isAlone(node),
      place: this.#place(node),
    };
    this.#includes.push(include);
    return include;
  }

  /** Whether nothing else stands on the lines of a tag. */
  #isAlone(node: Ast): boolean {
    const { start, end } = node.loc;
    const before = this.#lines[start.line - 1]?.slice(0, start.column) ?? '';
    const after = this.#lines[end.line - 1]?.slice(end.column) ?? '';
    return before.trim() === '' && after.trim() === '';
  }

  #expression(node: Ast): Expression {
    const place = this.#place(node);
    switch (node.type) {
      case 'PathExpression':
        return this.#path(node as hbs.AST.PathExpression);
      case 'SubExpression':
        return this.#call(node as hbs.AST.SubExpression, (node as hbs.AST.SubExpression).path);
      case 'StringLiteral':
      case 'NumberLiteral':
      case 'BooleanLiteral':
        return { kind: 'literal', value: (node as hbs.AST.StringLiteral).value, place };
      case 'NullLiteral':
      case 'UndefinedLiteral':
        return { kind: 'literal', value: null, place };
      default:
        return this.#refuse(node, `${node.type} is not supported here`);
    }
  }

  #path(node: hbs.AST.PathExpression): PathExpression {
    const { data, depth, parts, original } = node;
    const isScoped = /^(\.|this\b)/.test(original);
    return {
      kind: 'path',
      isData: data,
      up: depth,
      isScoped,
      parts,
      shown: original,
      place: this.#place(node),
    };
  }

  #call(node: Ast & Params, path: hbs.AST.PathExpression): CallExpression {
    const helper = path.original;
    const known = HELPERS.get(helper);
    if (known === undefined) {
      const hint =
        didYouMean(String(helper), HELPERS.keys()) || `; helpers are ${[...HELPERS.keys()].join(', ')}`;
      return this.#refuse(node, `unknown helper "${helper}"${hint}`);
    }
    if ((node.hash?.pairs.length ?? 0) > 0) return this.#refuse(node, `"${helper}" takes no named options`);
    const count = node.params.length;
    if (count < known.min || count > known.max) {
      const wanted = known.min === known.max ? `${known.min}` : `${known.min} to ${known.max}`;
      return this.#refuse(node, `"${helper}" takes ${wanted} values, and this gives it ${count}`);
    }
    return {
      kind: 'call',
      helper,
      args: node.params.map((param) => this.#expression(param)),
      place: this.#place(node),
    };
  }

  #slice(start: hbs.AST.Position, end: hbs.AST.Position): string {
    const lines = this.#lines.slice(start.line - 1, end.line);
    if (lines.length === 0) return '';
    lines[lines.length - 1] = lines.at(-1)!.slice(0, end.column);
    lines[0] = lines[0]!.slice(start.column);
    return lines.map((line) => line.trim()).join(' ');
  }

  #place(node: Ast): Place {
    const { line, column } = node.loc.start;
    return { file: this.#file, line, col: column + 1 };
  }

  #refuse(node: Ast, message: string): never {
    throw new TemplateFault(this.#place(node), message);
  }
}

/** How much white space Handlebars took away in front of a text: a line break after a block's tag, or all by `~`. */
function strippedBefore(original: string, text: string): number {
  const candidates = [0, /^[ \t]*\r?\n?/.exec(original)![0].length, /^\s*/.exec(original)![0].length];
  return candidates.find((start) => original.startsWith(text, start)) ?? 0;
}
