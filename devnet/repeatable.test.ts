import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePorts } from '#devnet/free-ports.ts'
import { startDevnet } from '#devnet/start-devnet.ts'

async function stateRoots(seed: number): Promise<readonly string[]> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'sexton-repeatable-'))
  const options = {
    dataFolder,
    seed,
    nowUnix: 1_800_000_000,
    historyDays: 3,
    live: false,
    saved: false,
  }
  const devnet = await startDevnet({ ...options, ...(await freePorts()) })
  try {
    const blocks = await Promise.all(
      Object.values(devnet.chains).map((chain) =>
        chain.client.rpc.send({ method: 'eth_getBlockByNumber', params: ['latest', false] }),
      ),
    )
    return blocks.map((block) => {
      assert.ok(typeof block === 'object' && block !== null && 'stateRoot' in block)
      return String(block.stateRoot)
    })
  } finally {
    await devnet.stop()
    await rm(dataFolder, { recursive: true })
  }
}

test('a seed and a time fix the whole history of both chains', async () => {
  const first = await stateRoots(5)
  assert.deepEqual(await stateRoots(5), first)
  assert.notDeepEqual(await stateRoots(6), first)
})
