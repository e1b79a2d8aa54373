import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

for (const guide of globSync('docs/guides/*.md', { cwd: root })) {
  const text = readFileSync(join(root, guide), 'utf8')
  for (const [, diff = ''] of text.matchAll(/^```diff\n(.*?)^```$/gms)) {
    test(`the diff in ${guide} applies`, (context) => {
      const { status, stderr, error } = spawnSync('git', ['apply', '--check', '-'], {
        cwd: root,
        input: diff,
        encoding: 'utf8',
      })
      if (error !== undefined) return context.skip('git is not installed')
      assert.equal(status, 0, stderr)
    })
  }
}
