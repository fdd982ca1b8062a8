# An agent of pydantic-ai with the MCP server, whose questions a person answers.
import asyncio, os
from pydantic_ai import Agent
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

server, *args = os.environ["SERVER"].split("\n")
model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=os.environ["BASE_URL"], api_key="none"))


async def answer(message, response_type, params, context):
    print("asked: bash " + message.replace("\n", " "))
    return response_type(decision="allow_once" if os.environ["ANSWER"] == "approve" else "reject")


agent = Agent(model, toolsets=[MCPToolset(StdioTransport(server, args), elicitation_handler=answer)], retries=3)


async def main():
    print((await agent.run("go")).output)


asyncio.run(main())
