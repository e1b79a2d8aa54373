import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { copyProject } from './project-copy.ts'

const root = join(import.meta.dirname, '..')

for (const guide of globSync('docs/guides/*.md', { cwd: root })) {
  const text = readFileSync(join(root, guide), 'utf8')
  for (const [, diff = ''] of text.matchAll(/^```diff\n(.*?)^```$/gms)) {
    const tests = [...diff.matchAll(/^\+{3} b\/(.+\.test\.ts)$/gm)].map(([, path = '']) => path)
    test(`the diff in ${guide} applies, and its tests pass`, async (context) => {
      const cwd = await copyProject(context)
      const applied = run('git', ['apply', '-'], { cwd, input: diff })
      if (applied.error !== undefined) return context.skip('git is not installed')
      assert.equal(applied.status, 0, applied.stderr)
      if (tests.length === 0) return
      const { status, stdout } = run(process.execPath, ['--test', ...tests], { cwd, input: '' })
      assert.equal(status, 0, stdout)
    })
  }
}

function run(command: string, args: readonly string[], more: { cwd: string; input: string }) {
  // With it, the tests would report to this run.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return spawnSync(command, args, { ...more, env, encoding: 'utf8' })
}
