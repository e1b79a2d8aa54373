import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { showAddress } from '#base/address.ts'
import { loadEcosystemFile, parseEcosystem } from '#ecosystem/load-ecosystem.ts'

const FOLDER = join(import.meta.dirname, 'ecosystems')
const environment = {
  ETHEREUM_RPC_URL: 'https://ethereum.example',
  BASE_RPC_URL: 'https://base.example',
  PUBLIC_URL: 'https://api.example',
  PAY_TO: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
}

test('every example of a public token is a valid file with checksummed addresses', async () => {
  const names = await readdir(FOLDER)
  assert.equal(names.length, 3)
  for (const name of names) {
    const file = await loadEcosystemFile(join(FOLDER, name), environment)
    const ecosystem = parseEcosystem(name, file)
    assert.notEqual(ecosystem.primary.prices.length, 0)
    const addresses = JSON.stringify(file).match(/0x[0-9a-fA-F]{40}/g) ?? []
    assert.ok(addresses.length > 5)
    for (const each of addresses)
      assert.equal(each, showAddress(each.toLowerCase() as `0x${string}`))
  }
})
