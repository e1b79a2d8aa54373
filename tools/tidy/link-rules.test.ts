import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linkBreaches, type TextFile } from './link-rules.ts'

const gone = `docs/${'gone'}.md`
const target: TextFile = { path: 'docs/glossary.md', text: '# Title\n\n## From 0.1.0: a `step`\n' }
const rulesOf = (file: TextFile) =>
  linkBreaches([file, target], (path) => path === target.path || path === file.path).map(
    ({ line, rule }) => `${line} ${rule}`,
  )

test('a relative link to a missing file or heading is found', () => {
  const text = '[a](glossary.md)\n[b](gone.md)\n[c](glossary.md#title)\n![d](glossary.md#nothing)\n'
  assert.deepEqual(rulesOf({ path: 'docs/contract.md', text }), [
    "2 'gone.md' leads nowhere",
    "4 'glossary.md#nothing' leads nowhere",
  ])
})

test('headings with punctuation, own headings and addresses of the web are accepted', () => {
  const text =
    '# Own\n[a](glossary.md#from-010-a-step) [b](#own) [c](https://example.com/gone.md)\n'
  assert.deepEqual(rulesOf({ path: 'docs/contract.md', text }), [])
})

test('links within code are text', () => {
  const text = '```\n[a](gone.md)\n```\n`[b](gone.md)`\n'
  assert.deepEqual(rulesOf({ path: 'docs/contract.md', text }), [])
})

test('a missing document that a source names is found', () => {
  const text = `// See docs/glossary.md.\nconst a = '${gone}'\n`
  assert.deepEqual(rulesOf({ path: 'src/base/a.ts', text }), [`2 '${gone}' leads nowhere`])
})
