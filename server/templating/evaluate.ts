import { TemplateFault } from './fault.ts';
import { HELPERS, HelperError } from './helpers.ts';
import type { Expression } from './nodes.ts';
import { resolve, type Scope } from './scope.ts';

/** The value of an expression. Helpers and the number of their arguments were checked when the template was read. */
export function evaluate(expression: Expression, scope: Scope): unknown {
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'path':
      return resolve(expression, scope);
    case 'call': {
      const { helper, args, place } = expression;
      // The one place where a name may be missing, since saying what to take then is what it is for.
      const first = args[0]!;
      const isOptional = helper === 'default' && first.kind === 'path';
      const values = args.map((arg, index) =>
        index === 0 && isOptional ? resolve(first, scope, true) : evaluate(arg, scope),
      );
      try {
        return HELPERS.get(helper)!.run(values);
      } catch (error) {
        if (!(error instanceof HelperError)) throw error;
        throw new TemplateFault(
          place,
          /^"|^the |^item /.test(error.message) ? error.message : `a value for "${helper}" ${error.message}`,
        );
      }
    }
  }
}
