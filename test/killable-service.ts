import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { freePort } from '#base/free-port.ts'
import { mine } from '#devnet/actions.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { localFile } from '#main/local-chains.ts'
import { BUILT_PROGRAM, buildService } from '#tools/build.ts'
import { startOwnDevnet } from './start-own-devnet.ts'
import { eventually } from './world.ts'

/**
 * Local chains, and the service as it is built, as a process of its own that can be killed and started again on the
 * same data. All of it ends with the test.
 */
export async function prepareService(input: {
  /** Instead of the ecosystem's own. */
  readonly quotas: Partial<EcosystemFile['quotas']>
}) {
  await buildService()
  const folder = mkdtempSync(join(tmpdir(), 'sexton-killed-'))
  const devnet = await startOwnDevnet()
  const running = new Set<ChildProcess>()
  after(async () => {
    for (const child of running) child.kill('SIGKILL')
    await devnet.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const port = await freePort(0)
  const local = localFile(port, {
    base: devnet.chains.base.rpcUrl,
    ethereum: devnet.chains.ethereum.rpcUrl,
  })
  const file = join(folder, 'my-ecosystem.json')
  const quotas = { ...local.quotas, ...input.quotas }
  writeFileSync(file, JSON.stringify({ ...local, quotas }))
  const environment = {
    ...process.env,
    PORT: String(port),
    SEXTON_DATA: folder,
    SEXTON_ECOSYSTEM: file,
    SEXTON_METRICS_PORT: 'off',
    LOG_LEVEL: 'warn',
  }
  const origin = `http://127.0.0.1:${port}`
  return {
    devnet,
    base: devnet.chains.base.client,
    origin,
    /** Resolves once it is ready; the newest block of base has to be young for that. */
    async startService() {
      await mine(devnet.chains.ethereum.client, { blocks: 1 })
      const child = spawn(process.execPath, [BUILT_PROGRAM, 'start'], {
        env: environment,
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      running.add(child)
      const exit = once(child, 'exit').finally(() => running.delete(child))
      await eventually(async () => ((await isReady(origin)) ? true : undefined), 30_000)
      return { child, exit }
    },
  }
}

async function isReady(origin: string): Promise<boolean> {
  const answer = await fetch(`${origin}/readyz`).catch(() => undefined)
  return answer?.status === 200
}
