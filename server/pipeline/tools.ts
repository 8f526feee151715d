import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { RailheadError } from '../errors.ts';
import type { Tool } from './plan.ts';

/** Where people get them. */
export const TOOL_SOURCES: Record<Tool, string> = {
  kubectl: 'https://kubernetes.io/docs/tasks/tools',
  helm: 'https://helm.sh/docs/intro/install',
};

export interface ToolOptions {
  /** A name on the PATH, or a path from the root, as the settings say. */
  wanted: Record<Tool, string>;
  /** The variable PATH. */
  path: string;
}

/** The programs that the steps use. Looked for each time: one that is installed now is found now. */
export class Tools {
  readonly #options: ToolOptions;

  constructor(options: ToolOptions) {
    this.#options = options;
  }

  async find(tool: Tool): Promise<string | undefined> {
    const { wanted, path } = this.#options;
    const name = wanted[tool];
    const candidates = isAbsolute(name)
      ? [name]
      : path
          .split(delimiter)
          .filter((folder) => folder !== '')
          .map((folder) => join(folder, name));
    for (const candidate of candidates) if (await isProgram(candidate)) return candidate;
    return undefined;
  }

  /** Throws with how to get it. */
  async get(tool: Tool): Promise<string> {
    const found = await this.find(tool);
    if (found !== undefined) return found;
    throw new RailheadError('RH_TOOL_MISSING', this.describeMissing(tool), {
      hint: `Install it (${TOOL_SOURCES[tool]}), or say where it is: --${tool} PROGRAM of \`railhead up\`.`,
    });
  }

  describeMissing(tool: Tool): string {
    const name = this.#options.wanted[tool];
    return `The program ${tool} is not there (${isAbsolute(name) ? name : `"${name}" on the PATH`}).`;
  }
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
