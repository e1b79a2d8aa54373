import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { registerName } from '#chains/datasets/register-name.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { runService } from '#main/start/run-service.ts'
import { storeFile } from '#main/store-file.ts'
import { runCommand } from './run-command.ts'
import { startWorld } from './world.ts'

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
