package io.jrun.launcher.dashboard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.view.JobView;
import io.jrun.launcher.view.RecordedJob;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests as browsers and attackers send them, byte for byte. */
@Timeout(60)
class DashboardServerTest {
    private static final String SCRIPT = "</script><script>alert(1)</script>";

    private static final int STREAMS = Boolean.getBoolean("jrun.soak") ? 10_000 : 80;

    @TempDir
    Path state;

    private DashboardServer server = open(0, Path.of("/nonexistent"));
    private URI url = URI.create(server.url());

    private static DashboardServer open(int port, Path state) {
        return DashboardServer.open("127.0.0.1", port, Optional.empty(), JobIndex.in(state));
    }

    @BeforeEach
    void serveTheJobsOfThisTest() {
        server.close();
        server = open(0, state);
        url = URI.create(server.url());
    }

    @AfterEach
    void close() {
        server.close();
    }

    private record Reply(int status, String head, String body) {}

    private Socket connect() throws IOException {
        Socket socket = new Socket(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), url.getPort());
        socket.setSoTimeout(20_000);
        return socket;
    }

    /** Sends a request with this first line and these headers. */
    private Reply send(String line, String... headers) throws IOException {
        try (Socket socket = connect()) {
            write(socket, line, headers);
            String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            int end = all.indexOf("\r\n\r\n");
            assertThat(end).as("a reply to " + line).isPositive();
            return new Reply(Integer.parseInt(all.split(" ", 3)[1]), all.substring(0, end), all.substring(end + 4));
        }
    }

    private static void write(Socket socket, String line, String... headers) throws IOException {
        String request = line + " HTTP/1.1\r\n" + String.join("\r\n", headers) + "\r\nConnection: close\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
        socket.getOutputStream().flush();
    }

    private String host() {
        return "Host: 127.0.0.1:" + url.getPort();
    }

    private String path(String path) {
        return path + (path.contains("?") ? "&" : "?") + url.getQuery();
    }

    private Reply get(String path) throws IOException {
        return send("GET " + path(path), host());
    }

    @Test
    void aRequestWithoutTheTokenIsRefused() throws IOException {
        for (String path : List.of("/", "/api/jobs", "/api/stream", "/api/job?job=a", "/?token=", "/?token=0123")) {
            assertThat(send("GET " + path, host()).status()).as(path).isEqualTo(403);
        }
        assertThat(send("POST /api/cancel?job=a&token=" + "0".repeat(48), host())
                        .status())
                .isEqualTo(403);
        assertThat(get("/").status()).isEqualTo(200);
        assertThat(get("/api/jobs").body()).contains("{\"jobs\":[]}");
    }

    @Test
    void anotherHostOrOriginIsRefusedAlsoWithTheToken() throws IOException {
        String request = "GET " + path("/api/jobs");
        assertThat(send(request, "Host: evil.example:" + url.getPort()).status())
                .isEqualTo(403);
        assertThat(send(request, "Host: 127.0.0.1.evil.example").status()).isEqualTo(403);
        assertThat(send(request, host(), "Origin: http://evil.example").status())
                .isEqualTo(403);
        assertThat(send(request, host(), "Origin: null").status()).isEqualTo(403);
        assertThat(send(request, host(), "Origin: http://127.0.0.1:" + url.getPort())
                        .status())
                .isEqualTo(200);
        assertThat(send(request, "Host: localhost:" + url.getPort()).status()).isEqualTo(200);
    }

    @Test
    void onlyTheListedFilesExist() throws IOException {
        assertThat(send("GET /assets/app.js", host()).status()).isEqualTo(200);
        for (String name : List.of(
                "../index.html",
                "..%2findex.html",
                "%2e%2e/%2e%2e/etc/passwd",
                "//etc/passwd",
                "package-info.class",
                "index.html",
                "app.js%00.css",
                "")) {
            assertThat(send("GET /assets/" + name, host()).status()).as(name).isIn(400, 403, 404);
        }
    }

    @Test
    void namesOfJobsAreNoPaths() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        job.close();
        assertThat(get("/api/job?job=nightly").status()).isEqualTo(200);
        for (String name : List.of("../logs/nightly", "..%2flogs%2fnightly", "%2fetc", "nightly%00", "", ".")) {
            assertThat(get("/api/job?job=" + name).status()).as(name).isEqualTo(404);
        }
    }

    @Test
    void ordersNeedPost() throws IOException {
        assertThat(get("/api/cancel?job=a").status()).isEqualTo(405);
        assertThat(send("POST " + path("/api/jobs"), host(), "Content-Length: 0")
                        .status())
                .isEqualTo(405);
    }

    @Test
    void aScriptInTheTextOfAJobStaysText() throws IOException {
        RecordedJob job = new RecordedJob(state, "nightly", List.of("a"));
        try (job) {
            job.publish(new JobEvent.Notice(SCRIPT));
            job.publish(new JobEvent.JobEnded(1, 0, 1, Optional.empty(), Map.of(), List.of(SCRIPT)));
            Files.writeString(job.folder(0).resolve("stdout.log"), SCRIPT + "\n");
        }
        assertThat(get("/api/job?job=nightly").head())
                .contains("application/json")
                .containsIgnoringCase("X-content-type-options: nosniff")
                .contains("default-src 'none'");
        String report = HtmlReport.of(new JobView("nightly", job.logs()));
        assertThat(report).contains("\\u003c/script>\\u003cscript>alert(1)").doesNotContain(SCRIPT);
        String data = report.substring(report.indexOf("id=\"data\">") + 10);
        Map<String, Object> json = JsonLine.read(data.substring(0, data.indexOf("</script>")));
        assertThat(((Map<?, ?>) Objects.requireNonNull(json.get("summary"))).get("report"))
                .isEqualTo(List.of(SCRIPT));
    }

    @Test
    void aScriptInANameStaysText() throws IOException {
        String name = "<script>alert(1)<";
        RecordedJob job = new RecordedJob(state, name, List.of("<script>alert(2)</script>"));
        job.close();
        assertThat(get("/api/jobs").head()).contains("application/json");
        assertThat(get("/api/job?job=%3Cscript%3Ealert(1)%3C").status()).isEqualTo(200);
        assertThat(HtmlReport.of(new JobView(name, job.logs()))).doesNotContain("<script>alert");
    }

    @Test
    void aJobThatCannotBeReadHidesNoOtherJob() throws IOException {
        new RecordedJob(state, "good", List.of("a")).close();
        RecordedJob newer = new RecordedJob(state, "newer", List.of("a"));
        newer.close();
        Files.writeString(
                newer.logs().resolve("events.jsonl"), "{\"schema\":\"jrun-job-events\",\"version\":\"2.0\"}\n");
        RecordedJob noRecord = new RecordedJob(state, "none", List.of("a"));
        noRecord.close();
        Files.writeString(noRecord.logs().resolve("events.jsonl"), "\u0000\u0001");
        RecordedJob large = new RecordedJob(state, "large", List.of("a"));
        large.close();
        try (RandomAccessFile file =
                new RandomAccessFile(large.logs().resolve("events.jsonl").toFile(), "rw")) {
            file.setLength(1L << 30);
        }
        for (RecordedJob old : List.of(newer, noRecord, large)) { // a young job without a record is starting
            Files.setLastModifiedTime(old.logs(), FileTime.fromMillis(1));
        }
        List<?> jobs = (List<?>) Objects.requireNonNull(
                JsonLine.read(get("/api/jobs").body().strip()).get("jobs"));
        assertThat(jobs).extracting("runId").containsExactlyInAnyOrder("good", "large", "newer", "none");
        assertThat(jobs.toString())
                .contains("has version 2.0 of the schema", "has no event yet", "jrun reads records of at most 256 MiB");
    }

    @Test
    void tooManyOpenStreamsAreRefusedAndTheServerStillAnswers() throws IOException {
        List<Socket> open = new ArrayList<>();
        try {
            int refused = 0;
            for (int stream = 0; stream < STREAMS; stream++) {
                Socket socket = connect();
                open.add(socket);
                write(socket, "GET " + path("/api/stream"), host());
                String status = new BufferedReader(
                                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))
                        .readLine();
                if (status.contains(" 503 ")) {
                    refused++;
                    socket.close();
                }
            }
            assertThat(refused).isEqualTo(STREAMS - 64);
            assertThat(get("/api/jobs").status()).isEqualTo(200);
        } finally {
            for (Socket socket : open) {
                socket.close();
            }
        }
    }

    @Test
    void aClientThatSendsNothingDelaysNoOther() throws IOException {
        try (Socket idle = connect();
                Socket half = connect()) {
            half.getOutputStream().write("GET / HT".getBytes(StandardCharsets.UTF_8));
            idle.setSoTimeout(1);
            assertThat(get("/api/jobs").status()).isEqualTo(200);
            assertThatThrownBy(() -> idle.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
        }
    }

    @Test
    void theBrowserGetsAFileThatOnlyTheUserReads() throws Exception {
        Path program = Files.writeString(state.resolve("open"), "#!/bin/sh\necho \"$@\" > " + state + "/arguments\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
        Process opened = BrowserOpening.open(server.url(), state.resolve("state"), program.toString())
                .orElseThrow();
        assertThat(opened.waitFor()).isZero();
        Path file = Path.of(Files.readString(state.resolve("arguments")).strip());
        assertThat(file.toString()).doesNotContain(url.getQuery());
        assertThat(Files.readString(file)).contains("content=\"0;url=" + server.url() + "\"");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
    }

    @Test
    void aPortInUseIsOneLine() {
        assertThatThrownBy(() -> open(url.getPort(), state))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("--port: cannot listen at 127.0.0.1:" + url.getPort());
    }

    @Test
    void theFilesOfThePagesAreSmall() {
        int bytes = Assets.text("index.html").length();
        for (String name : Assets.TYPES.keySet()) {
            bytes += Assets.text(name).getBytes(StandardCharsets.UTF_8).length;
        }
        assertThat(bytes).isLessThan(150_000);
    }
}
