import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillIn } from '#ecosystem/load-ecosystem.ts'
import { safeName } from '#ops/setup/chain-view.ts'

test('a name that a contract chose reads no variable of the operator, however it is written', () => {
  const problems = { add: () => assert.fail('a variable was looked for') }
  for (const name of ['$' + '{SECRET}', '$$' + '{{SECRET}', '$\u0080{SECRET}', '$\n{SECRET}']) {
    const service = safeName(name).replace(/[^\x20-\x7e]/g, '')
    for (const each of [safeName(name), service])
      assert.equal(fillIn(each, { SECRET: 'hunter2' }, problems as never), each)
  }
  assert.equal(safeName(' Head\u001b[2J of\nLine '), 'Head[2J ofLine')
})
