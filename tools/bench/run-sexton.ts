import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { nodeEnvironment } from '#test/node-environment.ts'

const ROOT = join(import.meta.dirname, '../..')

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of Sexton as a process of its own. */
export async function runSexton(
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onChild: (child: ChildProcess) => void = () => undefined,
): Promise<Ended> {
  const child = spawn(process.execPath, ['src/ops/cli/sexton.mjs', ...flags], {
    cwd: ROOT,
    env: { ...nodeEnvironment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onChild(child)
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  const [code, signal] = await once(child, 'close')
  return { code, signal, ...texts }
}
