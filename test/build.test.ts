import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { registerName } from '#data/datasets.ts'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { storeFile } from '#main/registers.ts'
import { runService } from '#main/run-service.ts'
import { Refused, startLyingNode } from './lying-node.ts'
import { runCommand } from './run-command.ts'
import { eventually, mintKey, startWorld } from './world.ts'

test('a changed file is built while the service runs, which goes on, and is served whole by the next start', async () => {
  const world = await startWorld()
  const { config, api } = world
  let service = world.service
  const { graveDigs: _, ...changed } = world.file
  const file = join(config.dataFolder, 'changed.json')
  writeFileSync(file, JSON.stringify(changed))
  const flags = ['--ecosystem', file, '--data', config.dataFolder]
  const ecosystem = parseEcosystem('changed', changed)
  const fileOf = (each = ecosystem) => storeFile(config.dataFolder, registerName(each))
  try {
    const before = await runCommand(['check', ...flags])
    assert.match(
      before.stdout + before.stderr,
      /no register is built from this file: run "sexton build"/,
    )
    assert.equal(before.code, 0)
    const built = await runCommand(['build', ...flags])
    assert.equal(built.code, 0, built.stderr)
    assert.match(built.stdout + built.stderr, /The register is built\. Restart the service/)
    assert.equal((await api.get('/api/grave-digs')).body.meta.chains[0].status, 'live')
    const after = await runCommand(['check', ...flags])
    assert.doesNotMatch(after.stdout + after.stderr, /no register/)
    await service.stop()
    service = await runService({
      ...{ config, ecosystemName: 'changed', ecosystemFile: changed, clock: Date.now },
      ...{ logger: pino({ level: 'warn' }), onProgress: () => undefined },
    })
    assert.equal(await service.indexed(), 'all')
    const { body } = await api.get('/api/meta')
    assert.ok(body.notConfigured.includes('graveDigs'))
    const old = fileOf(parseEcosystem('local', world.file))
    assert.ok(existsSync(old), 'the old one is kept for an hour')
  } finally {
    await service.stop()
    await world.devnet.stop()
    rmSync(config.dataFolder, { recursive: true, force: true })
  }
})

test('a start with a changed file that is not built credits prepayments and keeps tiers while figures are read', async () => {
  const node = await startLyingNode()
  const world = await startWorld({
    change(file) {
      const chains = file.chains.map((chain) => {
        if (chain.name !== 'base') return chain
        node.target = chain.rpcUrls[0] ?? ''
        return { ...chain, rpcUrls: [node.url] }
      })
      return { ...file, chains }
    },
  })
  const { config, api, devnet, file } = world
  const { client } = devnet.chains.base
  const { premium } = devnet.wallets
  let service = world.service
  try {
    const key = await eventually(() => mintKey(api, premium).catch(() => undefined), 10_000)
    const call = () => api.get('/api/burns', key.authorization)
    assert.equal((await call()).headers.get('x-ratelimit-tier'), 'premium')
    // A wallet's tier is held for a moment, and stored when it is next read.
    world.now.ms += 6_000
    await call()
    // So many that figures are read as history first.
    await mine(client, { blocks: 200 })
    await service.stop()
    // History of figures cannot be read; that of payments can.
    node.lie = ({ method, params }, result) => {
      const [filter] = params as readonly { readonly address?: string | readonly string[] }[]
      const of = [filter?.address ?? []].flat().map((each) => each.toLowerCase())
      const isOurs = of.every((each) => each === addresses.base.usdc.toLowerCase())
      if (method === 'eth_getLogs' && !isOurs) throw new Refused('busy', -32_005)
      return result
    }
    const { graveDigs: _, ...changed } = file
    service = await runService({
      ...{ config, ecosystemName: 'changed', ecosystemFile: changed, clock: Date.now },
      ...{ logger: pino({ level: 'silent' }), onProgress: () => undefined },
    })
    await payUsdc(client, { from: accounts.holder, to: premium.address, amount: 1_000_000n })
    await mine(client, { blocks: 1 })
    const paid = { from: premium.address, to: accounts.payTo, amount: 1_000_000n }
    const txHash = await payUsdc(client, paid)
    await api.post('/api/sessions/prepay', {
      ...{ apiKeyPublicId: key.publicId, txHash, amountUsd: 1, payerAddress: premium.address },
    })
    await mine(client, { blocks: 4 })
    await eventually(async () => {
      const { body } = await api.get(`/api/sessions/prepay/${txHash}`)
      return body.verified === true ? true : undefined
    }, 60_000)
    const figures = await call()
    assert.equal(figures.headers.get('x-ratelimit-tier'), 'premium')
    assert.equal(figures.body.error, 'data_not_ready')
  } finally {
    await service.stop()
    await devnet.stop()
    await node.stop()
    rmSync(config.dataFolder, { recursive: true, force: true })
  }
})
