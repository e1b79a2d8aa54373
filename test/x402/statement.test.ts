import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openSigningKeys } from '#main/open-signing-keys.ts'
import { signStatement } from '#money/statements/sign-statement.ts'
import type { Statement } from '#money/statements/statement-shape.ts'
import { eitherEngine } from '../long-version.ts'
import {
  auditText,
  newSigningKeys,
  prepay,
  readStatements,
  type Statements,
  verifyApart,
} from './statement-world.ts'
import { mintOpened, newPayer, payingFetch, proxiedWorlds, type X402World } from './x402-world.ts'

const startProxied = await proxiedWorlds()

/** The last digit of each amount of a statement is another one, in one amount at a time. */
function changedAmounts(text: string): readonly string[] {
  const last =
    /(?<="(?:amount|deposit|price|openingBalance|closingBalance)MicroUsd":"-?\d*)\d(?=")/g
  return [...text.matchAll(last)].map(({ 0: digit, index }) => {
    const other = digit === '9' ? '1' : String(Number(digit) + 1)
    return text.slice(0, index) + other + text.slice(index + 1)
  })
}

/** A forger also writes the payload that fits. */
function withOwnPayload(text: string): string {
  const { statement, jws } = JSON.parse(text)
  const [head, , signature] = jws.split('.')
  const payload = Buffer.from(JSON.stringify(statement)).toString('base64url')
  return JSON.stringify({ statement, jws: [head, payload, signature].join('.') })
}

for (const engine of eitherEngine)
  describe(engine, () => {
    const signing = newSigningKeys()
    let world: X402World
    let statements: Statements
    before(async () => {
      const environment = { SEXTON_SIGNING_KEYS: signing.file }
      world = await startProxied(engine, { environment })
      const key = await mintOpened(world, world.devnet.wallets.holder)
      const call = () => world.api.get('/api/stats', key.authorization)
      assert.equal((await call()).status, 200)
      const payer = await newPayer(world.base, 5_000_000n)
      const paying = payingFetch(payer)
      const paid = await paying(`${world.origin}/api/stats`, { headers: key.authorization })
      assert.equal(paid.status, 200)
      await prepay(world, key)
      for (let n = 0; n < 3; n += 1) assert.equal((await call()).status, 200)
      statements = await readStatements(world, key)
    })
    after(async () => {
      await world.stop()
      signing.remove()
    })

    test(`${engine}: real payments and calls are in the statement, to the micro-dollar`, () => {
      const { statement } = JSON.parse(statements.json) as { readonly statement: Statement }
      const said = statement.movements.map(({ kind, amountMicroUsd }) => [kind, amountMicroUsd])
      assert.deepEqual(said.toSorted(), [
        ['charges', '-400'],
        ['deposit', '1000000'],
        ['x402_payment', '100000'],
      ])
      const places = statement.movements.map(
        ({ date, bookedAt, id }) => `${date} ${bookedAt} ${id}`,
      )
      assert.deepEqual(places, places.toSorted())
      assert.equal(statement.closingBalanceMicroUsd, '1099600')
      assert.deepEqual(
        statement.freeCalls.map(({ calls }) => calls),
        [1],
      )
    })

    test(`${engine}: the audit finds it signed, right, in the ledger and on the chain`, async () => {
      const { json, jwks } = statements
      assert.deepEqual(await auditText(json, jwks, world), [])
    })

    test(`${engine}: CSV shows the same balances and movements`, () => {
      const { statement } = JSON.parse(statements.json) as { readonly statement: Statement }
      const [names = '', ...lines] = statements.csv.trimEnd().split('\r\n')
      const amount = names.split(',').indexOf('amountMicroUsd')
      const amounts = lines.map((line) => line.split(',')[amount]).filter(Boolean)
      const { openingBalanceMicroUsd, movements, closingBalanceMicroUsd } = statement
      assert.deepEqual(amounts, [
        openingBalanceMicroUsd,
        ...movements.map((each) => each.amountMicroUsd),
        closingBalanceMicroUsd,
      ])
    })

    test(`${engine}: a signed statement of what never happened is found in ledger and chain`, async () => {
      const keys = await openSigningKeys(signing.file)
      const { statement } = JSON.parse(statements.json) as { readonly statement: Statement }
      const movements = statement.movements.map((each) =>
        each.kind === 'deposit' ? { ...each, depositMicroUsd: '1000001' } : each,
      )
      const forged = await signStatement(keys, { ...statement, movements })
      const found = await auditText(JSON.stringify(forged), statements.jwks, world)
      const id = movements.find(({ kind }) => kind === 'deposit')?.id
      assert.equal(found.length, 2, found.join())
      assert.equal(found[0], `deposit ${id}: depositMicroUsd is 1000001, the accounts have 1000000`)
      assert.match(found[1] ?? '', /^credit:.+: block [0-9]+ of base has no such transfer in 0x/)
    })

    test(`${engine}: a program without our code verifies it`, (context) => {
      const said = verifyApart(statements.jwks, [statements.json])
      if (said === undefined) return context.skip('python3 is not installed')
      assert.deepEqual(said, ['ok'])
    })

    test(`${engine}: a changed amount is found by both`, async (context) => {
      const { json, jwks } = statements
      const changed = changedAmounts(json)
      assert.ok(changed.length >= 8, 'the amounts were found')
      const forged = [...changed, ...changed.map(withOwnPayload)]
      for (const text of forged) assert.notDeepEqual(await auditText(text, jwks), [])
      const said = verifyApart(jwks, forged)
      if (said === undefined) return context.skip('python3 is not installed')
      assert.equal(said.length, forged.length)
      assert.ok(!said.includes('ok'))
    })
  })
