# An agent of pydantic-ai with the MCP server.
import asyncio, os, signal
from pydantic_ai import Agent
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

server, *args = os.environ["SERVER"].split("\n")
model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=os.environ["BASE_URL"], api_key="none"))
agent = Agent(model, toolsets=[MCPToolset(StdioTransport(server, args))], retries=3)


async def main():
    task = asyncio.ensure_future(agent.run("go"))
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, task.cancel)
    try:
        print((await task).output)
    except asyncio.CancelledError:
        print("cancelled")


asyncio.run(main())
