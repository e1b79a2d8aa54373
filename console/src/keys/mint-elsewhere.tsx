import { useState } from 'preact/hooks'
import { getKeyMessage, mintKey } from 'sexton-client'
import { Copy } from '../parts/copy.tsx'
import { readAddress } from '../parts/my-wallet.ts'
import { keyless } from '../state/session.ts'
import { texts } from '../texts.ts'
import type { Minted } from './mint.tsx'
import { Refusal } from './refusal.tsx'
import { useAction } from './use-action.ts'

const t = texts.elsewhere

/** Mints with a signature that was made elsewhere, such as on another device. */
export function MintElsewhere({ onMinted }: { onMinted(minted: Minted): void }) {
  const [address, setAddress] = useState('')
  const [message, setMessage] = useState<string>()
  const [signature, setSignature] = useState('')
  const action = useAction()
  const owner = readAddress(address)
  const next = () =>
    action.run(async () => {
      if (owner === undefined) return
      if (message === undefined) {
        const { data } = await getKeyMessage(keyless, { address: owner, action: 'mint' })
        return setMessage(data.message)
      }
      const proof = { ownerAddress: owner, message, signature: signature.trim() }
      const { data } = await mintKey(keyless, proof)
      setMessage(undefined)
      setSignature('')
      onMinted({ ...data, message })
    })
  return (
    <details class="data">
      <summary>{t.title}</summary>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          next()
        }}
      >
        <label class="field">
          <span>{t.address}</span>
          <input
            class="in"
            placeholder="0x…"
            spellcheck={false}
            value={address}
            onInput={(event) => {
              setAddress(event.currentTarget.value)
              setMessage(undefined)
            }}
          />
        </label>
        {message !== undefined && (
          <>
            <p class="note">{t.sign}</p>
            <pre>{message}</pre>
            <Copy text={message} label={t.copy} of="" />
            <label class="field">
              <span>{t.signature}</span>
              <input
                class="in"
                placeholder="0x…"
                spellcheck={false}
                value={signature}
                onInput={(event) => setSignature(event.currentTarget.value)}
              />
            </label>
          </>
        )}
        <button
          type="submit"
          class="btn"
          disabled={
            owner === undefined || action.isRunning || (message !== undefined && signature === '')
          }
        >
          {message === undefined ? t.show : t.mint}
        </button>
      </form>
      <Refusal error={action.error} again={next} />
    </details>
  )
}
