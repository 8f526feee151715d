/** How much a template may make. */
export interface TemplateLimits {
  /** Characters of rendered text, values included. */
  maxOutput: number;
  /** Blocks and partials in each other. */
  maxDepth: number;
  /** Parts of templates that are run, so that loops over loops end also when they write nothing. */
  maxSteps: number;
  /** Values in the parsed document, aliases written out. */
  maxNodes: number;
}

export const DEFAULT_TEMPLATE_LIMITS: TemplateLimits = {
  maxOutput: 8 * 1024 * 1024,
  maxDepth: 100,
  maxSteps: 2_000_000,
  maxNodes: 500_000,
};
