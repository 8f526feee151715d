import { dump } from 'js-yaml';
import { isRecord } from '../document/shape.ts';
import type { Path, YamlDocument } from '../document/yaml.ts';

export interface ButaneLayer {
  template: string;
  document: YamlDocument;
}

/** Stands for a number that was written in octal, until it is printed. */
const OCTAL = '@octal:';

/** The layers of a configuration as documents of YAML, one after the other. */
export function butaneText(layers: readonly ButaneLayer[]): string {
  const texts = layers.map(({ template, document }) => {
    const yaml = dump(asWritten(document.value, [], document));
    return `# ${template}\n${yaml.replaceAll(new RegExp(`['"]?${OCTAL}(0[0-7]+)['"]?`, 'g'), '$1')}`;
  });
  return texts.join('---\n');
}

/** To YAML `0644` is the number 644; who pastes what is printed here must get the mode that was meant. */
function asWritten(value: unknown, path: Path, document: YamlDocument): unknown {
  if (Array.isArray(value)) return value.map((item, index) => asWritten(item, [...path, index], document));
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, asWritten(item, [...path, key], document)]),
    );
  }
  if (typeof value !== 'number') return value;
  const text = document.textOf(path);
  return text !== undefined && /^0[0-7]+$/.test(text) ? `${OCTAL}${text}` : value;
}
