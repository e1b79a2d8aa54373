import assert from 'node:assert/strict'
import { test } from 'node:test'
import { menuOf, readSitePages } from './site-pages.ts'

const pages = await readSitePages()

test('every page of the site is once in its menu, but the first', () => {
  const links = menuOf(pages).flatMap(({ items }) => items.map(({ link }) => `${link.slice(1)}.md`))
  const paths = pages.map(({ path }) => path).filter((path) => path !== 'index.md')
  assert.deepEqual(links.toSorted(), paths.toSorted())
})

test('links between pages stay in the site, others lead into the repository', () => {
  const paths = new Set(pages.map(({ path }) => path))
  const first = pages.find(({ path }) => path === 'index.md')?.text ?? ''
  assert.match(first, /\]\(\.\/contract\.md\)/)
  assert.match(
    first,
    /\]\(https:\/\/github\.com\/[\w-]+\/sexton\/blob\/main\/tools\/bench\/README\.md\)/,
  )
  assert.match(first, /!\[[^\]]*\]\(\/images\/\w+\.png\)/)
  for (const { path, text } of pages)
    for (const [, target = ''] of text.matchAll(/\]\((\.[^()\s#]+)/g))
      assert.ok(paths.has(new URL(target, `site:/${path}`).pathname.slice(1)), `${path}: ${target}`)
})
