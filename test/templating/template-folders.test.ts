import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderText } from '../../server/templating/render-text.ts';
import { TemplateFolders } from '../../server/templating/template-folders.ts';
import { tempFolder } from '../support/temp.ts';

async function world() {
  const dirs = [await tempFolder(), await tempFolder()] as const;
  for (const dir of dirs) await mkdir(join(dir, 'snippets'));
  const [builtIn, own] = dirs.map((dir) => join(dir, 'snippets')) as [string, string];
  let now = 0;
  const folders = new TemplateFolders({
    now: () => now,
    folders: [
      { dir: dirs[0], shownAs: 'templates' },
      { dir: dirs[1], shownAs: '/my/templates' },
    ],
  });
  return {
    builtIn,
    own,
    folders,
    later: () => {
      now += 1000;
    },
    text: (name = 'a.txt') => {
      const rendered = renderText(folders.current().set, `snippets/${name}`, {});
      return 'text' in rendered
        ? rendered.text
        : rendered.problems.map(({ file, message }) => `${file}: ${message}`)[0];
    },
  };
}

it("a person's own file wins by name; without it the built-in one is back", async () => {
  const { builtIn, own, text, later } = await world();
  await writeFile(join(builtIn, 'a.txt'), 'built in');
  await writeFile(join(own, 'a.txt'), 'own');
  expect(text()).toBe('own');
  await rm(join(own, 'a.txt'));
  later();
  expect(text()).toBe('built in');
});

it('looks at the files now and then, and takes what was edited, renamed over, added and removed', async () => {
  const { builtIn, text, later, folders } = await world();
  const path = join(builtIn, 'a.txt');
  await writeFile(path, 'one');
  expect(text()).toBe('one');
  const { version } = folders.current();
  later();
  expect(folders.current().version).toBe(version);
  await writeFile(path, 'two!');
  expect(text()).toBe('one');
  later();
  expect(text()).toBe('two!');
  expect(folders.current().version).not.toBe(version);
  // As editors do: a new file of the same size, renamed over the old.
  await writeFile(`${path}.tmp`, '3333');
  await rename(`${path}.tmp`, path);
  later();
  expect(text()).toBe('3333');
  await rm(path);
  later();
  expect(text()).toMatch(/there is no template "snippets\/a\.txt"/);
});

it('what is wrong is said with the folder that the file is in', async () => {
  const { builtIn, own, text } = await world();
  await writeFile(join(builtIn, 'a.txt'), '{{nope}}');
  await writeFile(join(own, 'b.txt'), '{{nope}}');
  expect(text()).toMatch(/^templates\/snippets\/a\.txt: /);
  expect(text('b.txt')).toMatch(/^\/my\/templates\/snippets\/b\.txt: /);
});

it('a folder that is not there, a link that leads nowhere, a folder in place of a file: the rest works', async () => {
  const { builtIn, own, text } = await world();
  await writeFile(join(builtIn, 'a.txt'), 'built in');
  await rm(own, { recursive: true });
  await symlink('/nowhere', join(builtIn, 'dangling.txt'));
  await mkdir(join(builtIn, 'folder.txt'));
  expect(text()).toBe('built in');
  expect(text('dangling.txt')).toMatch(/there is no template/);
});

it.skipIf(process.getuid?.() === 0)('one that can not be read is as one that is not there', async () => {
  const { builtIn, text } = await world();
  await writeFile(join(builtIn, 'a.txt'), 'built in');
  await chmod(join(builtIn, 'a.txt'), 0);
  expect(text()).toMatch(/there is no template/);
});
