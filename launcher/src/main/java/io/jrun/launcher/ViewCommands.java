package io.jrun.launcher;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.ViewRequest;
import io.jrun.launcher.dashboard.BrowserOpening;
import io.jrun.launcher.dashboard.DashboardServer;
import io.jrun.launcher.dashboard.HtmlReport;
import io.jrun.launcher.dashboard.ServerIdentity;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.jobs.JobFinder;
import io.jrun.launcher.jobs.JobTop;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.trace.TraceCommand;
import io.jrun.launcher.view.JobView;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Optional;

/** Runs the commands that show jobs: {@code dashboard}, {@code top}, {@code trace} and {@code report}. */
final class ViewCommands {
    /** Opens a file with the program that the user has chosen for its type. */
    private static final String BROWSER = "xdg-open";

    private final CommandContext commandContext;
    private final Terminal terminal;

    ViewCommands(CommandContext commandContext, Terminal terminal) {
        this.commandContext = commandContext;
        this.terminal = terminal;
    }

    /** Runs the command. Returns the exit code. */
    int run(ViewRequest request) throws IOException, InterruptedException {
        switch (request.command()) {
            case DASHBOARD -> dashboard(request);
            case TOP ->
                new JobTop(finder(), terminal.out(), commandContext.terminals().stdout()).run(request.job());
            case TRACE -> {
                JobView view = view(request);
                write(request, view.name() + ".trace.json", out -> TraceCommand.write(view, out, terminal::report));
            }
            case REPORT -> {
                JobView view = view(request);
                write(request, view.name() + ".report.html", out -> out.write(HtmlReport.of(view)));
            }
            default -> throw new IllegalArgumentException(request.command() + " shows no job");
        }
        return 0;
    }

    private JobFinder finder() {
        return new JobFinder(commandContext);
    }

    private JobView view(ViewRequest request) throws IOException {
        JobView view = finder().view(request.job().orElseThrow());
        view.refreshMetrics();
        return view;
    }

    /** Writes a result. */
    @FunctionalInterface
    private interface Result {
        void write(Writer out) throws IOException;
    }

    /** Writes the result to the file of the request. The file appears complete or not at all. */
    private void write(ViewRequest request, String defaultName, Result result) throws IOException {
        String name = request.output().orElse(defaultName);
        if (name.equals("-")) {
            try {
                write(result, terminal.out());
            } catch (IOException e) {
                throw new UsageException(
                        request.command().word() + ": cannot write to stdout: " + FileError.reason(e) + ".");
            }
            return;
        }
        Path file = commandContext.resolve(name);
        try {
            OutputFile.replace(file, out -> write(result, out));
        } catch (FileSystemException e) {
            throw new UsageException(
                    request.command().word() + ": cannot write " + file + ": " + FileError.reason(e, file) + ".");
        }
        terminal.print(file.toString());
    }

    private static void write(Result result, OutputStream out) throws IOException {
        Writer text = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8));
        result.write(text);
        text.flush();
    }

    private void dashboard(ViewRequest request) throws InterruptedException {
        Path state = commandContext
                .stateFolder()
                .orElseThrow(() -> new UsageException("dashboard: HOME and XDG_STATE_HOME are unset, so there is no"
                        + " list of this user's jobs; set one."));
        ViewRequest.PageAddress page = request.page();
        Optional<ServerIdentity> tls = page.tls()
                .map(files -> ServerIdentity.read(
                        commandContext.resolve(files.certificate()), commandContext.resolve(files.key())));
        try (DashboardServer server = DashboardServer.open(page.host(), page.port(), tls, JobIndex.in(state))) {
            terminal.print(server.url());
            if (request.opensBrowser()) {
                Optional<Process> _ = BrowserOpening.open(server.url(), state, BROWSER);
            }
            server.await();
        }
    }
}
