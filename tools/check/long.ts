import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { openTestStage } from './test-stage.ts'

/** The long versions of tests of which `npm test` runs a short one, each on the engines that matter to it. */
const programs = [
  'test/accounts/main.ts',
  'test/accounts/main.ts --engine postgres --replicas 2',
  'test/accounts/break-stores.ts',
  'test/accounts/break-stores.ts --engine postgres',
  'test/kill-at-every-write.ts',
  '--test test/recompute/recompute.test.ts test/provider-answers.test.ts test/broken-mappings.test.ts',
  '--test test/end-to-end.test.ts test/optional-parts.test.ts test/rebuilt-register.test.ts',
  '--test test/two-forks.test.ts',
  '--test test/client/generators.test.ts test/x402/cases.test.ts test/x402/crossing.test.ts test/x402/killed.test.ts',
  '--test tools/dev-restarts.ts contracts/compile.test.ts',
  '--test test/false-payments.test.ts test/unproven-payments.test.ts',
  '--test test/feed/stream-property.test.ts',
  '--test test/webhooks/deaths.test.ts',
  '--test test/hostile-tokens/hostile-tokens.test.ts',
]

const filters = process.argv.slice(2)
const chosen = programs.filter(
  (program) => filters.length === 0 || filters.some((filter) => program.includes(filter)),
)
process.env.TEST_LONG = 'yes'
const stage = await openTestStage({ postgres: false, build: true })
const results: string[] = []
for (const program of chosen) {
  process.stdout.write(`\n${program}\n`)
  const started = performance.now()
  const child = spawn(process.execPath, program.split(' '), {
    cwd: join(import.meta.dirname, '../..'),
    stdio: 'inherit',
  })
  const [code] = await once(child, 'close')
  if (code !== 0) process.exitCode = 1
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  results.push(`${code === 0 ? 'ok    ' : 'FAILED'} ${program} (${seconds} s)\n`)
}
await stage.close()
process.stdout.write(`\n${results.join('')}`)
