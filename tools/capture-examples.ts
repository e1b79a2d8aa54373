import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { registerName } from '#data/datasets.ts'
import { setAutomine } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { ApiAnswer } from '#test/api-client.ts'
import { FULL_HISTORY_DAYS } from '#test/start-own-devnet.ts'
import { startWorld, type World } from '#test/world.ts'
import { signPayment } from '#test/x402/raw-payment.ts'
import { fundWallet, passBlocks, startX402World, type X402World } from '#test/x402/x402-world.ts'

/**
 * Lives through keys, payments and refusals on real chains and writes every body into
 * `src/api/examples.json`: node tools/capture-examples.ts
 */
const FILE = join(import.meta.dirname, '../src/api/examples.json')

/** The chains of the second service stand still, so that its gate closes soon. */
const STALE_SECONDS = 5

const requests: Record<string, unknown> = {}
const answers: Record<string, Record<string, unknown>> = {}
const problems: Record<string, unknown> = {}

const world = await startX402World({
  historyDays: FULL_HISTORY_DAYS,
  change: (file) => ({ ...file, quotas: { anonymous: 500, free: 2_000, premium: 50_000 } }),
  environment: { SEXTON_GUARD_PER_MINUTE: '3000,1000,6' },
})
try {
  await passBlocks(world.base, 3)
  await captureKeys(world)
} finally {
  await world.stop()
}
const bare = await startWorld({
  historyDays: FULL_HISTORY_DAYS,
  change: ({ payment: _, ...file }) => ({
    ...file,
    chains: file.chains.map((chain) => ({ ...chain, staleAfterSeconds: STALE_SECONDS })),
    quotas: { anonymous: 1, free: 2, premium: 3 },
  }),
})
try {
  await captureOutages(bare)
} finally {
  await bare.stop()
}
const names = {
  publicBaseUrl: world.file.service.publicBaseUrl,
  service: `${world.file.service.name}: `,
  keyPrefix: `${world.file.service.keyPrefix}_`,
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: accounts.payTo,
}
const sorted = Object.fromEntries(Object.entries(problems).sort(([a], [b]) => (a < b ? -1 : 1)))
// Both services are one to the reader.
const text = JSON.stringify({ names, requests, answers, problems: sorted }, null, 2)
  .replaceAll(bare.file.service.publicBaseUrl, names.publicBaseUrl)
  // Scanners of secrets take others for real.
  .replaceAll(/(_[0-9a-f]{8}_)[0-9a-f]{32}/g, `$1${'0'.repeat(32)}`)
  .replaceAll(/whsec_[A-Za-z0-9+/=]+/g, `whsec_${Buffer.alloc(32).toString('base64')}`)
await writeFile(FILE, `${text}\n`)
process.stdout.write(
  `${Object.keys(answers).length} operations, ${Object.keys(problems).length} problems in ${FILE}\n`,
)

/** Keeps an answer under its operation, or a refusal under its code; the first one stays. */
function keep(
  operationId: string,
  { status, body }: ApiAnswer,
  request?: unknown,
): ApiAnswer['body'] {
  if (status >= 400 && status !== 402) problems[body.error] ??= body
  else if (operationId !== '') {
    answers[operationId] ??= {}
    Object.assign(answers[operationId], { [status]: answers[operationId][status] ?? body })
    if (request !== undefined) requests[operationId] ??= request
  }
  return body
}

async function captureKeys(own: X402World): Promise<void> {
  const { api, base, devnet } = own
  const holder = privateKeyToAccount(devnet.wallets.holder.privateKey)
  const prove = async (action: string, more = '', account = holder) => {
    const path = `/api/keys/message?address=${account.address}&action=${action}${more}`
    const { message } = keep('getKeyMessage', await api.get(path))
    const signature = await account.signMessage({ message })
    return { ownerAddress: account.address, signature, message }
  }
  const post = async (operationId: string, path: string, body: object, headers = {}) =>
    keep(operationId, await api.post(path, body, headers), body)

  keep('getGate', await api.get(`/api/keys/gate?address=${holder.address}`))
  const mint = { ...(await prove('mint')), label: 'nightly export' }
  const { key, secret } = await post('mintKey', '/api/keys', mint)
  await post('', '/api/keys', mint)
  const bearer = { Authorization: `Bearer ${secret}` }
  const own1 = `/api/keys/${key.publicId}`
  const label = { ...(await prove('label', `&publicId=${key.publicId}`)), label: 'charts' }
  await post('labelKey', `${own1}/label`, label)
  await api.get('/api/stats', bearer)
  await capturePayments(own, { publicId: key.publicId, bearer })
  await captureWebhooks(own, bearer)
  await captureLimits(own, { publicId: key.publicId, bearer })
  keep('listKeys', await api.get('/api/keys', bearer))
  keep('getUsage', await api.get('/api/usage', bearer))
  keep('getUsageHistory', await api.get('/api/usage/history?days=2', bearer))

  const second = await post('', '/api/keys', await prove('mint'))
  const toPublicId = second.key.publicId
  const query = `&publicId=${key.publicId}&toPublicId=${toPublicId}`
  const move = { ...(await prove('move-balance', query)), toPublicId }
  await post('moveBalance', `${own1}/move-balance`, move)
  const other = `/api/keys/${toPublicId}`
  await post('', `${other}/revoke`, {}, bearer)
  const rotation = await prove('rotate', `&publicId=${toPublicId}`)
  const rotated = await post('rotateKey', `${other}/rotate`, rotation)
  await post('', `${other}/rotate`, await prove('rotate', `&publicId=${toPublicId}`))
  await post('reportLeak', '/api/keys/report-leak', { secret: rotated.secret })
  await captureRefusals(own, prove)
  const revocation = await prove('revoke', `&publicId=${key.publicId}`)
  await post('revokeKey', `${own1}/revoke`, revocation)
  keep('', await api.get('/api/stats', bearer))
  for (let count = 0; count < 11; count += 1) await post('', '/api/keys', await prove('mint'))
  await setAutomine(base, false)
  const { header } = await signPayment(holder)
  keep('', await api.get('/api/sessions/topup?usd=0.1', { 'PAYMENT-SIGNATURE': header }))
  while (problems.rate_limited === undefined) keep('', await api.get('/api/sessions/topup'))
}

async function captureWebhooks(
  { api }: X402World,
  bearer: { readonly Authorization: string },
): Promise<void> {
  const path = '/api/webhooks'
  const body = { url: 'https://hooks.example.com/sexton', filter: { kind: 'burn' } }
  const { webhook } = keep('registerWebhook', await api.post(path, body, bearer), body)
  const own = `${path}/${webhook.id}`
  keep('listWebhooks', await api.get(path, bearer))
  keep('getWebhook', await api.get(own, bearer))
  keep('enableWebhook', await api.post(`${own}/enable`, {}, bearer))
  keep('rotateWebhookSecret', await api.post(`${own}/rotate`, {}, bearer))
  keep('deleteWebhook', await api.post(`${own}/delete`, {}, bearer))
  keep('', await api.get(own, bearer))
  for (let count = 0; problems.webhook_limit_reached === undefined; count += 1)
    keep('', await api.post(path, { ...body, url: `${body.url}/${count}` }, bearer))
}

async function captureLimits(
  { api }: X402World,
  {
    publicId,
    bearer,
  }: { readonly publicId: string; readonly bearer: { readonly Authorization: string } },
): Promise<void> {
  const path = `/api/keys/${publicId}/limits`
  const limits = { dailyCapUsd: 0 }
  keep('changeKeyLimits', await api.post(path, limits, bearer), limits)
  keep('getKeyLimits', await api.get(path, bearer))
  keep('', await api.get('/api/dividends/total', bearer))
  while (problems.spending_limit_reached === undefined)
    keep('', await api.get('/api/stats', bearer))
}

async function capturePayments(
  { api, base, devnet }: X402World,
  {
    publicId,
    bearer,
  }: { readonly publicId: string; readonly bearer: { readonly Authorization: string } },
): Promise<void> {
  const holder = privateKeyToAccount(devnet.wallets.holder.privateKey)
  await fundWallet(base, { to: holder.address, amount: 5_000_000n })
  keep('getTopup', await api.get('/api/sessions/topup?usd=0.1', bearer))
  const { header } = await signPayment(holder)
  const paid = await api.get('/api/sessions/topup?usd=0.1', {
    ...bearer,
    'PAYMENT-SIGNATURE': header,
  })
  answers.topup = keepBoth('getTopup', paid)
  const txHash = paid.body.txHash.replace(/.{4}$/, '0000')
  const claim = { apiKeyPublicId: publicId, txHash, payerAddress: holder.address, amountUsd: 5 }
  const record = keep('prepay', await api.post('/api/sessions/prepay', claim), claim)
  keep('prepay', await api.post('/api/sessions/prepay', claim))
  keep('getPrepayment', await api.get(`/api/sessions/prepay/${record.id}`))
  keep('', await api.get(`/api/sessions/prepay/${`0x${'0'.repeat(64)}`}`))
  // The same authorization again, for another purchase.
  keep('', await api.get('/api/sessions/topup?usd=0.1', { 'PAYMENT-SIGNATURE': header }))
}

/** A service without payments, then one whose index and stores fail under it. */
async function captureOutages({ api, devnet, config, file }: World): Promise<void> {
  const open = (store: string) => new DatabaseSync(join(config.dataFolder, `${store}.sqlite`))
  const accountsStore = open('accounts')
  accountsStore.exec('begin immediate')
  keep('', await api.get('/api/burns/total'))
  accountsStore.exec('rollback')
  accountsStore.close()
  await api.get('/api/stats')
  keep('', await api.get('/api/stats'))
  keep('', await api.post('/api/sessions/prepay', {}))
  await sleep(2 * STALE_SECONDS * 1_000)
  keep('', await api.get(`/api/keys/gate?address=${devnet.wallets.holder.address}`))
  const register = open(registerName(parseEcosystem('local', file)))
  register.exec('drop table positions')
  register.close()
  await sleep(1_000)
  keep('', await api.get('/api/keys/message?address=0x&action=mint'))
  keep('', await api.get('/readyz'))
  keep('', await api.get('/api/dividends/total'))
}

/** GET and POST of the top-up answer alike. */
function keepBoth(operationId: string, answer: ApiAnswer): Record<string, unknown> {
  keep(operationId, answer)
  return answers[operationId] ?? {}
}

async function captureRefusals(
  { api }: World,
  prove: (
    action: string,
    more?: string,
    account?: ReturnType<typeof privateKeyToAccount>,
  ) => Promise<{
    readonly ownerAddress: string
    readonly signature: string
    readonly message: string
  }>,
): Promise<void> {
  const json = { 'Content-Type': 'application/json' }
  const post = (body: string, headers: Record<string, string> = json) =>
    api.call('/api/keys', { method: 'POST', headers, body })
  keep('', await api.get('/api/burns?token=DOGE&period=0d'))
  keep('', await api.get('/api/burns/recent?cursor=garbage'))
  keep('', await api.get('/api/dividends/0x123'))
  keep('', await api.get('/api/nothing'))
  keep('', await api.call('/api/stats', { method: 'DELETE' }))
  keep('', await post('{"a":'))
  keep('', await post('{}'))
  keep('', await post(`"${'a'.repeat(9_000)}"`))
  keep('', await post('{}', { 'Content-Type': 'text/plain' }))
  keep('', await api.post('/api/keys/00000000/revoke', await prove('revoke', '&publicId=00000000')))
  const poor = privateKeyToAccount(generatePrivateKey())
  const proof = await prove('mint', '', poor)
  keep('', await api.post('/api/keys', { ...proof, signature: '0x00' }))
  keep('', await api.post('/api/keys', { ...proof, message: `${proof.message}.` }))
  const stranger = await prove('mint')
  keep('', await api.post('/api/keys', { ...proof, signature: stranger.signature }))
  keep('', await api.post('/api/keys', { ...stranger, ownerAddress: poor.address }))
  keep('', await api.post('/api/keys', await prove('list')))
  const old = proof.message.replace(/Issued: .*/, 'Issued: 2026-01-01T00:00:00Z')
  keep(
    '',
    await api.post('/api/keys', {
      ...proof,
      message: old,
      signature: await poor.signMessage({ message: old }),
    }),
  )
  keep('', await api.post('/api/keys', proof))
}
