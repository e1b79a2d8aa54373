import assert from 'node:assert/strict'
import { test } from 'node:test'
import localEcosystem from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { welcome } from '#main/start.ts'

const welcomeTo = (file: EcosystemFile, isWhole = true) =>
  welcome({
    url: 'http://localhost:4020',
    tookMs: 1_000,
    ecosystem: parseEcosystem('mine', file),
    isWhole,
    chains: undefined,
  })

test('the welcome suggests a request for each configured part', () => {
  const text = welcomeTo(localEcosystem)
  assert.match(text, /burns\?period=7d&chain=base/)
  assert.match(text, /dividends\/recent/)
  assert.match(text, /grave-digs/)
})

test('the welcome suggests no request for missing parts', () => {
  const { service, chains, tokens } = localEcosystem
  const text = welcomeTo({ service, chains, tokens })
  assert.doesNotMatch(text, /burns|dividends|grave/)
  assert.match(text, /curl http:\/\/localhost:4020\/api\/stats/)
})

test('only a service that has all figures is called ready', () => {
  assert.match(welcomeTo(localEcosystem), /Sexton is ready on/)
  const early = welcomeTo(localEcosystem, false)
  assert.doesNotMatch(early, /ready on/)
  assert.match(early, /answers on .* while it reads the chains/)
})
