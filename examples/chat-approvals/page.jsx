import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'

// The chat stays with a reload of the page. What it says is compared with what the server has asked.
const id = (localStorage.chat ??= crypto.randomUUID())
const stored = JSON.parse(localStorage.messages ?? '[]')

function Page() {
  const [text, setText] = useState('')
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    id,
    messages: stored,
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    // The answers go to the server once every question has one.
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  useEffect(() => {
    localStorage.messages = JSON.stringify(messages)
  }, [messages])

  return (
    <main>
      {messages.map((message) => (
        <section key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => {
            if (part.type === 'text') return <p key={index}>{part.text}</p>
            if (!part.type.startsWith('tool-')) return null
            return <Call key={part.toolCallId} part={part} answer={addToolApprovalResponse} />
          })}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          sendMessage({ text })
          setText('')
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} disabled={status !== 'ready'} />
      </form>
      <output aria-label="Status">{status}</output>
    </main>
  )
}

function Call({ part, answer }) {
  const { approval, state, input, output } = part
  const name = part.type.slice('tool-'.length)
  const isAsked = state === 'approval-requested' && !approval.isAutomatic
  return (
    <article aria-label={`${name} ${input?.path ?? ''}`}>
      <pre>{JSON.stringify(input, null, 2)}</pre>
      {isAsked && <button onClick={() => answer({ id: approval.id, approved: true })}>Allow</button>}
      {isAsked && <button onClick={() => answer({ id: approval.id, approved: false, reason: 'not now' })}>Deny</button>}
      <small>{state === 'output-available' ? output.metadata.code : state}</small>
    </article>
  )
}

createRoot(document.getElementById('root')).render(<Page />)
