import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Banners } from './parts/banners.tsx'
import { FileContext } from './parts/file-context.ts'
import { Footer } from './parts/footer.tsx'
import { Masthead } from './parts/masthead.tsx'
import { RegisterPage } from './register/register-page.tsx'
import { useSnapshot } from './state/snapshot.ts'
import { texts } from './texts.ts'

const EntriesPage = lazy(async () => (await import('./entries/entries-page.tsx')).EntriesPage)
const KeysPage = lazy(async () => (await import('./keys/keys-page.tsx')).KeysPage)
const TransactionPage = lazy(
  async () => (await import('./entries/transaction-page.tsx')).TransactionPage,
)
const TryPage = lazy(async () => (await import('./try/try-page.tsx')).TryPage)
const WalletPage = lazy(async () => (await import('./wallet/wallet-page.tsx')).WalletPage)

/** Each address is a page that the server answers; links between them load anew, which keeps secrets short-lived. */
export function App() {
  const { snapshot, struck, failure, retry } = useSnapshot()
  const [, first = '', second = ''] = location.pathname.split('/')
  return (
    <FileContext.Provider value={snapshot}>
      <div class="page">
        <a class="skip" href="#main">
          {texts.skip}
        </a>
        <Masthead snapshot={snapshot} current={first} />
        <Banners snapshot={snapshot} failure={failure} retry={retry} />
        <main id="main">
          {first === '' && <RegisterPage snapshot={snapshot} struck={struck} />}
          {first === 'entries' && <EntriesPage tab={second} snapshot={snapshot} struck={struck} />}
          {first === 'keys' && <KeysPage service={snapshot.service} />}
          {first === 'try' && <TryPage service={snapshot.service} />}
          {first === 'tx' && <TransactionPage hash={second} snapshot={snapshot} />}
          {first === 'wallet' && <WalletPage address={second} snapshot={snapshot} />}
        </main>
        <Footer links={snapshot.service.links} />
      </div>
    </FileContext.Provider>
  )
}

/** A component that is loaded when it is first shown. */
function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState<ComponentType<Props>>()
    useEffect(() => {
      load().then((component) => setLoaded(() => component))
    }, [])
    return Loaded === undefined ? null : <Loaded {...props} />
  }
}
