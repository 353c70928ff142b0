//! The measuring client on rmcp:
//!
//!     bench-peer-rust SERVER MEASURE COUNT [AT-ONCE]
//!     bench-peer-rust serve
//!
//! bench/README.md has the measures and the line that is printed. One thread, which is the
//! quicker choice for a client of one server. `serve` is the measured server: one tool over HTTP,
//! sessions kept. rmcp answers in a session with an event stream.
use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::time::Instant;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleClient, RoleServer, RunningService, ServiceExt};
use rmcp::transport::streamable_http_server::{
    session::local::LocalSessionManager, StreamableHttpServerConfig, StreamableHttpService,
};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ErrorData, ServerHandler};
use tokio::process::Command;

type Client = RunningService<RoleClient, ()>;
type Outcome<T> = Result<T, Box<dyn Error>>;

fn check(right: bool) -> Outcome<()> {
    if right { Ok(()) } else { Err("not the answer that was expected".into()) }
}

async fn connected(server: &str) -> Outcome<Client> {
    if server.starts_with("http://") {
        return Ok(().serve(StreamableHttpClientTransport::from_uri(server)).await?);
    }
    Ok(().serve(TokioChildProcess::new(Command::new(server))?).await?)
}

async fn echo(client: &Client) -> Outcome<()> {
    let arguments = serde_json::json!({"text": "hello"}).as_object().cloned().unwrap_or_default();
    let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
    check(result.content[0].as_text().is_some_and(|text| text.text.len() == 4))
}

async fn large(client: &Client) -> Outcome<()> {
    let result = client.call_tool(CallToolRequestParams::new("large")).await?;
    check(result.content[0].as_text().is_some_and(|text| text.text.len() > 4_000_000))
}

async fn many(client: &Client) -> Outcome<()> {
    let result = client.call_tool(CallToolRequestParams::new("many")).await?;
    let rows = result.structured_content.as_ref().and_then(|value| value["rows"].as_array().map(Vec::len));
    check(rows.is_some_and(|rows| rows > 1000))
}

async fn one(measure: &str, client: &Client) -> Outcome<()> {
    match measure {
        "large" => large(client).await,
        "many" => many(client).await,
        _ => echo(client).await,
    }
}

fn cpu_us() -> f64 {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    us(usage.ru_utime) + us(usage.ru_stime)
}

struct Meter {
    wall: Instant,
    cpu: f64,
    each: Vec<f64>,
}

impl Meter {
    fn begin() -> Self {
        Meter { wall: Instant::now(), cpu: cpu_us(), each: Vec::new() }
    }

    fn print(mut self, measure: &str, calls: usize) -> Outcome<()> {
        let wall = self.wall.elapsed().as_nanos() as f64 / 1e3;
        let cpu = cpu_us() - self.cpu;
        self.each.sort_by(f64::total_cmp);
        let p50 = self.each.get(self.each.len() / 2).copied().unwrap_or(0.0);
        let status = std::fs::read_to_string("/proc/self/status")?;
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.split_whitespace().next())
            .unwrap_or("0");
        println!(
            "{{\"measure\":\"{measure}\",\"count\":{calls},\"wall_us\":{:.3},\"cpu_us\":{:.3},\"p50_us\":{p50:.3},\"peak_kib\":{peak}}}",
            wall / calls as f64,
            cpu / calls as f64,
        );
        Ok(())
    }
}

async fn in_flight(client: &Rc<Client>, total: usize, at_once: usize) -> Outcome<()> {
    let left = Rc::new(Cell::new(total));
    let mut workers = Vec::new();
    for _ in 0..at_once {
        let (client, left) = (client.clone(), left.clone());
        workers.push(tokio::task::spawn_local(async move {
            while left.get() > 0 {
                left.set(left.get() - 1);
                echo(&client).await.map_err(|error| error.to_string())?;
            }
            Ok::<(), String>(())
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn connect_many(server: &str, count: usize, at_once: usize) -> Outcome<Vec<Client>> {
    let left = Rc::new(Cell::new(count));
    let mut workers = Vec::new();
    for _ in 0..at_once {
        let (server, left) = (server.to_owned(), left.clone());
        workers.push(tokio::task::spawn_local(async move {
            let mut clients = Vec::new();
            while left.get() > 0 {
                left.set(left.get() - 1);
                let client = connected(&server).await.map_err(|error| error.to_string())?;
                let tools = client.list_all_tools().await.map_err(|error| error.to_string())?;
                check(tools.len() == 3).map_err(|error| error.to_string())?;
                clients.push(client);
            }
            Ok::<Vec<Client>, String>(clients)
        }));
    }
    let mut clients = Vec::new();
    for worker in workers {
        clients.extend(worker.await??);
    }
    Ok(clients)
}

async fn measured(arguments: Vec<String>) -> Outcome<()> {
    let (server, measure) = (arguments[1].as_str(), arguments[2].as_str());
    let count: usize = arguments[3].parse()?;
    let at_once: usize = arguments.get(4).map_or(Ok(1), |text| text.parse())?;
    let warm_up = count / 5 + 1;
    if measure == "connect" {
        let meter = Meter::begin();
        let _clients = connect_many(server, count, at_once).await?;
        meter.print(measure, 1)?;
        std::process::exit(0);
    }
    let client = Rc::new(connected(server).await?);
    if measure == "parallel" {
        in_flight(&client, warm_up, at_once).await?;
        let meter = Meter::begin();
        in_flight(&client, count, at_once).await?;
        meter.print(measure, count)?;
    } else {
        for _ in 0..warm_up {
            one(measure, &client).await?;
        }
        let mut meter = Meter::begin();
        for _ in 0..count {
            let began = Instant::now();
            one(measure, &client).await?;
            meter.each.push(began.elapsed().as_nanos() as f64 / 1e3);
        }
        meter.print(measure, count)?;
    }
    // The figures are out; ending the server is not among them.
    std::process::exit(0)
}

#[derive(Clone)]
struct Offered;

impl ServerHandler for Offered {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = serde_json::json!({"type": "object"}).as_object().cloned().unwrap_or_default();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "Says it again", schema)]))
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text("said")]).into())
    }
}

async fn serve() -> Outcome<()> {
    let service = StreamableHttpService::new(
        || Ok(Offered),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve().await;
    }
    tokio::task::LocalSet::new().run_until(measured(std::env::args().collect())).await
}
