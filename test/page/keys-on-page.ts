import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { accounts } from '#devnet/addresses.ts'
import { eventually } from '../world.ts'
import { fundWallet, passBlocks, type X402World } from '../x402/x402-world.ts'
import { announceWallet, changeAccounts, type WalletMood, willing } from './browser-wallet.ts'
import {
  assertAccessible,
  assertClean,
  openPage,
  type WatchedPage,
  widerBy,
} from './page-harness.ts'
import { FREE_CALLS, pageStage, TRADE, visit } from './page-stage.ts'

describe('keys on the page', () => {
  let world: X402World
  let watched: WatchedPage
  let page: Page
  let mood: WalletMood
  let firstSecret: string
  before(async () => {
    const { browser, ...stage } = pageStage()
    world = stage.world
    watched = await openPage(browser, world.origin)
    page = watched.page
    await announceWallet(page, { mood: () => mood, base: world.base, name: 'Test Wallet' })
  })
  after(() => page.context().close())

  /** A person who has never been here. */
  const start = async (privateKey: `0x${string}`): Promise<void> => {
    mood = willing(privateKey)
    await page.unrouteAll()
    await page.goto('about:blank')
    await page.context().setStorageState({ cookies: [], origins: [] })
    await page.goto(`${world.origin}/keys`)
  }
  const connect = () => page.getByRole('button', { name: 'Test Wallet' }).click()
  const mint = async (): Promise<string> => {
    await page.getByRole('button', { name: 'Sign for a key' }).click()
    await page.getByText('This secret is shown once.').waitFor()
    return shownSecret(page)
  }

  test('minted with the keyboard alone; the secret is in no storage and no address', async () => {
    await start(world.devnet.wallets.holder.privateKey)
    await tabTo(page, 'Test Wallet')
    await page.keyboard.press('Enter')
    await page.getByText('Open: free tier').waitFor()
    await tabTo(page, 'Label')
    await page.keyboard.type('charts')
    await page.keyboard.press('Enter')
    await page.getByText('This secret is shown once.').waitFor()
    const secret = await shownSecret(page)
    firstSecret = secret
    assert.match(secret, /^svc_[0-9a-f]{8}_[0-9a-f]{32}$/)
    const { status } = await world.api.get('/api/stats', { Authorization: `Bearer ${secret}` })
    assert.equal(status, 200)
    const kept = await page.evaluate(
      'JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.cookie])',
    )
    assert.ok(!String(kept).includes(secret.slice(13)), 'the secret is kept nowhere')
    await assertAccessible(page)
    await page.getByRole('button', { name: 'I have it, hide it' }).click()
    assert.equal(await page.getByText(secret).count(), 0)
    assertClean(watched)
  })

  test('a call is tried with a key that exists', async () => {
    const trying = await visit('/try')
    await trying.page.getByText('Use a key you have').click()
    await trying.page.getByLabel('Secret').fill(firstSecret)
    await trying.page.getByRole('button', { name: 'Use this key' }).click()
    await trying.page.getByText('Sent with your key.').waitFor()
    // A call that is refused is not counted; a later test counts on all that is free.
    await trying.page.getByLabel('period').fill('0d')
    await trying.page.getByRole('button', { name: 'Send', exact: true }).click()
    await trying.page.getByText(/calls left today, with your key/).waitFor()
    await assertAccessible(trying.page)
    assertClean(trying)
  })

  test('topped up by transfer: seen, confirmed block by block, credited', async () => {
    const { address } = world.devnet.wallets.holder
    await fundWallet(world.base, { to: address, amount: 20_000_000n })
    await page.getByText(/^[0-9.,]+ USDC$/).waitFor()
    await page.getByRole('button', { name: '$1', exact: true }).click()
    await page.getByRole('button', { name: /^Send \$1\.00 in USDC$/ }).click()
    await page.getByRole('heading', { name: /Topping up/ }).waitFor()
    await untilShown(page, '$1.00 credited.', () => passBlocks(world.base, 1))
    assertClean(watched)
  })

  test('topped up by an x402 authorization, which costs the wallet no gas', async () => {
    await page.getByRole('button', { name: 'Add money' }).click()
    await page.getByRole('button', { name: '$5', exact: true }).click()
    await page.getByRole('button', { name: 'Sign instead, no fee' }).click()
    await page.getByText('$5.00 credited.').waitFor()
    await page.getByText('$6.0000').first().waitFor()
    assertClean(watched)
  })

  test('calls with the key are paid from the balance once the free ones are used', async () => {
    const paidBy = async (secret: string) => {
      const answer = await world.api.get('/api/stats', { Authorization: `Bearer ${secret}` })
      return answer.headers.get('x-ratelimit-source') ?? answer.status
    }
    const second = await mint()
    for (let call = 1; call < FREE_CALLS; call += 1) assert.equal(await paidBy(second), 'quota')
    assert.equal(await paidBy(firstSecret), 'prepaid')
    assert.equal(await paidBy(second), 402, 'this key of the wallet has no balance of its own')
  })

  test('renamed, its balance moved, replaced and revoked, each by a signature', async () => {
    await page.getByRole('button', { name: 'Sign to list your keys' }).click()
    await page.getByText('2 of 10').waitFor()
    const first = page.locator('tr', { hasText: 'charts' })
    const today = new Date().toISOString().slice(0, 10)
    await first.getByRole('cell', { name: today }).waitFor()
    assert.match((await first.getByRole('cell').nth(3).textContent()) ?? '', /^[1-9]/)
    await first.getByRole('button', { name: 'Manage' }).click()
    await page.getByLabel('New label').fill('nightly')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.locator('tr', { hasText: 'nightly' }).first().waitFor()
    await page.getByRole('button', { name: 'Move balance' }).click()
    await page.getByText(/^\$5\.99 moved to [0-9a-f]{8}\.$/).waitFor()
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByText('This secret is shown once.').waitFor()
    await page.getByText('2 of 10').waitFor()
    const secret = await shownSecret(page)
    await page
      .locator('tr', { hasText: secret.slice(4, 12) })
      .getByRole('button', { name: 'Manage' })
      .click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('1 of 10').waitFor()
    const refused = await world.api.get('/api/stats', { Authorization: `Bearer ${secret}` })
    assert.equal(refused.status, 401)
    await assertAccessible(page)
    assertClean(watched)
  })

  test('a person who declines loses nothing and is asked again for the amount chosen by then', async () => {
    await page.getByRole('button', { name: '$5', exact: true }).click()
    mood.declined.add('eth_sendTransaction')
    await page.getByRole('button', { name: /^Send / }).click()
    await page.getByText('You declined in your wallet').waitFor()
    mood.declined.clear()
    mood.losesHash = true
    const before = mood.sentCount
    await page.getByRole('button', { name: '$1', exact: true }).click()
    await page.getByRole('button', { name: 'Ask again' }).click()
    await eventually(async () => (mood.sentCount > before ? true : undefined), 30_000)
  })

  test('a page that was left in the middle of a payment finds it again from the chain', async () => {
    await page.reload()
    mood.losesHash = false
    await connect()
    await page.getByRole('button', { name: 'Sign to list your keys' }).click()
    await page.getByText('A payment is under way').waitFor()
    await page.getByRole('button', { name: 'Credit it to this key' }).click()
    await page.reload()
    await connect()
    await page.getByRole('heading', { name: /Topping up/ }).waitFor()
    await untilShown(page, '$1.00 credited.', () => passBlocks(world.base, 1))
    assertClean(watched)
  })

  test('a payment with an unknown outcome is sent again as it was signed, never signed anew', async () => {
    await passBlocks(world.base, 1)
    await start(world.devnet.wallets.holder.privateKey)
    await connect()
    const Authorization = `Bearer ${await mint()}`
    let failures = 2
    const sent = new Set<string>()
    await page.route('**/api/sessions/topup*', async (route) => {
      const header = route.request().headers()['payment-signature']
      if (header === undefined) return route.continue()
      sent.add(header)
      failures -= 1
      // The second request is paid for, but its answer is lost.
      if (failures === 0) await route.fetch()
      return failures >= 0 ? route.abort() : route.continue()
    })
    await page.getByRole('button', { name: '$1', exact: true }).click()
    await page.getByRole('button', { name: 'Sign instead, no fee' }).click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('any amount it moved is on the balance it was made for').waitFor()
    assert.equal(sent.size, 1)
    assert.equal((await world.api.get('/api/usage', { Authorization })).body.prepaidBalanceUsd, 1)
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
    assert.deepEqual(watched.strangers, [])
  })

  test('a transfer that the wallet did not tell of is never sent twice', async () => {
    await start(world.devnet.wallets.holder.privateKey)
    await connect()
    await mint()
    mood.failsAfterSending = true
    await page.getByRole('button', { name: '$1', exact: true }).click()
    await page.getByRole('button', { name: /^Send / }).click()
    await page.getByText('Your wallet did not say whether it sent the payment').waitFor()
    mood.failsAfterSending = false
    await page.getByRole('button', { name: /^Send / }).click()
    await page.getByText(/is in no block yet|is not claimed yet/).waitFor()
    await untilShown(page, 'A payment is under way', () => passBlocks(world.base, 1))
    assert.equal(mood.sentCount, 1)
    await page.getByRole('button', { name: 'Credit it to this key' }).click()
    await untilShown(page, '$1.00 credited.', () => passBlocks(world.base, 1))
    assert.equal(mood.sentCount, 1)
    assertClean(watched)
  })

  test('a payment from before is claimed by its hash; another transaction is refused', async () => {
    const hash = await page.locator('code[title^="0x"]').getAttribute('title')
    await page.getByRole('button', { name: 'Add money' }).click()
    await page.getByText('Claim a payment you sent').click()
    const claim = page.getByRole('button', { name: 'Credit it to this key' })
    await page.getByLabel('Hash of the transaction').fill(`0x${'1'.repeat(64)}`)
    await claim.click()
    await page.getByText('No USDC for this service in that transaction').waitFor()
    await page.getByLabel('Hash of the transaction').fill(String(hash))
    await claim.click()
    await page.getByText('$1.00 credited.').waitFor()
    assertClean(watched)
  })

  test('window.ethereum alone is a wallet; it adds a chain that it does not know; a secret is copied over plain http', async () => {
    const own = await openPage(pageStage().browser, world.origin)
    mood = willing(world.devnet.wallets.holder.privateKey)
    await announceWallet(own.page, { mood: () => mood, base: world.base, name: '' })
    await own.page.addInitScript('delete Navigator.prototype.clipboard')
    await own.page.goto(`${world.origin}/keys`)
    await own.page.getByRole('button', { name: 'Wallet of this browser' }).click()
    await own.page.getByRole('button', { name: 'Sign for a key' }).click()
    await own.page.getByRole('button', { name: 'Copy secret' }).click()
    await own.page.getByRole('button', { name: 'Copied' }).waitFor()
    await page.bringToFront()
    const copied = page.evaluate<string>('navigator.clipboard.readText()')
    assert.equal(await copied, await shownSecret(own.page))
    mood.chainId = 1
    mood.known = false
    await own.page.getByRole('button', { name: /^Send / }).click()
    await own.page.getByRole('button', { name: 'Switch to base' }).click()
    await eventually(async () => mood.chainId === 8453 || undefined, 30_000)
    assert.match(JSON.stringify(mood.known), /"0x2105".*"https:\/\/mainnet.base.org"/)
    assertClean(own)
    await own.page.context().close()
  })

  test('a phone without a wallet sees what is needed and the price first, and mints with a pasted signature', async () => {
    const account = privateKeyToAccount(world.devnet.wallets.holder.privateKey)
    const { page: phone } = await visit('/keys', { width: 390, height: 800 })
    await phone.getByText('minted by a wallet that holds 100 USD of GRAVE and CRYPT').waitFor()
    await phone.getByText('$0.0001, paid in USDC on base').waitFor()
    const link = phone.getByRole('link', { name: 'Open in MetaMask' })
    assert.match((await link.getAttribute('href')) ?? '', /\/dapp\/127\.0\.0\.1:\d+\/keys$/)
    await phone.getByText('Sign elsewhere and paste the signature', { exact: true }).click()
    await phone.getByLabel('Address of the wallet').fill(account.address)
    await phone.getByRole('button', { name: 'Show what to sign' }).click()
    const message = (await phone.locator('form pre').textContent()) ?? ''
    await phone
      .getByLabel('Signature', { exact: true })
      .fill(await account.signMessage({ message }))
    await phone.getByRole('button', { name: 'Mint with this signature' }).click()
    await phone.getByText('This secret is shown once.').waitFor()
    assert.equal(await widerBy(phone), 0)
    await assertAccessible(phone)
  })

  test('a wallet below the gate sees what is missing and where the token trades, and cannot sign in vain', async () => {
    await passBlocks(world.base, 1)
    await start(generatePrivateKey())
    await connect()
    await page.getByText('$100.00 short of the gate').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Sign for a key' }).isDisabled())
    const trade = page.getByRole('link', { name: /^Where GRAVE.* trades$/ })
    assert.equal(await trade.getAttribute('href'), TRADE)
    await assertAccessible(page)
    // Another wallet is not held to that answer while its own is on its way.
    await page.route('**/api/keys/gate*', () => undefined)
    await changeAccounts(page, [accounts.holder])
    await page.getByText(`Connected: ${accounts.holder}`).waitFor()
    assert.ok(await page.getByRole('button', { name: 'Sign for a key' }).isEnabled())
    assertClean(watched)
  })
})

async function shownSecret(page: Page): Promise<string> {
  return (await page.locator('.secret').textContent()) ?? ''
}

/** Presses Tab until an element of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(
      '(document.activeElement.labels?.[0] ?? document.activeElement).textContent',
    )
    if (String(focused).startsWith(name)) return
  }
  assert.fail(`Tab never reaches ${name}`)
}

/** Does something again and again until a text is shown. */
async function untilShown(page: Page, text: string, act: () => Promise<void>): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    if ((await page.getByText(text).count()) > 0) return
    await act()
    await page.waitForTimeout(250)
  }
  assert.fail(`"${text}" was never shown:\n${await page.locator('main').textContent()}`)
}
