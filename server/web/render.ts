import { readFileSync } from 'node:fs';
import Handlebars from 'handlebars';

/** Compiles one of the views. Values are escaped; a name the view doesn't get is an error, not an empty place. */
export function loadView(name: string): (view: object) => string {
  const source = readFileSync(new URL(`./views/${name}.hbs`, import.meta.url), 'utf8');
  return Handlebars.create().compile(source, { strict: true });
}

export function loadStatic(name: string): string {
  return readFileSync(new URL(`./static/${name}`, import.meta.url), 'utf8');
}
