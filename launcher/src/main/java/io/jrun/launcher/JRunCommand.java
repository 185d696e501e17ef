package io.jrun.launcher;

import io.jrun.launcher.blas.MklJars;
import io.jrun.launcher.cli.AgentRequest;
import io.jrun.launcher.cli.CertRequest;
import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.CommandOption;
import io.jrun.launcher.cli.ContainerVariables;
import io.jrun.launcher.cli.CudaRequest;
import io.jrun.launcher.cli.DoctorRequest;
import io.jrun.launcher.cli.ExecRequest;
import io.jrun.launcher.cli.HelpText;
import io.jrun.launcher.cli.ImageRequest;
import io.jrun.launcher.cli.JobRequest;
import io.jrun.launcher.cli.JobsRequest;
import io.jrun.launcher.cli.ParsedCommand;
import io.jrun.launcher.cli.SubCommand;
import io.jrun.launcher.cli.SubmitRequest;
import io.jrun.launcher.cli.ViewRequest;
import io.jrun.launcher.doctor.TemporaryFolderCheck;
import io.jrun.launcher.image.ImageCommands;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.TerminalStreams;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.jobs.ExecCommand;
import io.jrun.launcher.jobs.JobCommands;
import io.jrun.launcher.layout.LayoutException;
import io.jrun.launcher.maven.LocalRepository;
import io.jrun.launcher.process.FastExit;
import io.jrun.launcher.process.Prewarm;
import io.jrun.launcher.record.JobIndex;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The {@code jrun} command. scripts/jrun starts this class with the properties below. */
public final class JRunCommand {
    /** The folder of the installation. */
    private static final String HOME_PROPERTY = "jrun.home";

    /** The path of scripts/jrun. */
    private static final String COMMAND_PROPERTY = "jrun.command";

    /** The streams of jrun that are terminals, as found by scripts/jrun: "out", "err", both, or neither. */
    private static final String TERMINAL_PROPERTY = "jrun.tty";

    /** First words of lines that only print. Such a line needs neither the prewarming nor the end by _exit. */
    private static final Set<String> INFORMATION = Set.of("version", "--version", "help", "--help", "-h");

    private final CommandContext commandContext;
    private final Terminal terminal;

    JRunCommand(CommandContext commandContext, Terminal terminal) {
        this.commandContext = commandContext;
        this.terminal = terminal;
    }

    /** Runs a command line and ends the process with its exit code. */
    public static void main(String[] args) {
        boolean startsJob = args.length == 0 || !INFORMATION.contains(args[0]);
        if (startsJob) {
            Prewarm.begin();
        }
        Path directory = Path.of("").toAbsolutePath();
        Path home = directory.resolve(System.getProperty(HOME_PROPERTY, "target/jrun"));
        String terminals = System.getProperty(TERMINAL_PROPERTY, "");
        TerminalStreams streams = new TerminalStreams(terminals.contains("out"), terminals.contains("err"));
        boolean colours = System.getenv().getOrDefault("NO_COLOR", "").isEmpty();
        Terminal terminal = new Terminal(
                new FileOutputStream(FileDescriptor.out),
                new FileOutputStream(FileDescriptor.err),
                colours && streams.stdout(),
                colours && streams.stderr());
        Path command = directory.resolve(System.getProperty(COMMAND_PROPERTY, "scripts/jrun"));
        CommandContext commandContext =
                new CommandContext(System.getenv(), directory, home, command.normalize(), streams);
        String classListJobs = System.getProperty(ClassListJobs.PROPERTY);
        if (classListJobs != null) {
            ClassListJobs.run(classListJobs, commandContext);
            return;
        }
        Optional<String> undecoded = UndecodedText.problem(Arrays.asList(args), optionVariables());
        undecoded.ifPresent(terminal::report);
        int code = undecoded.isPresent()
                ? ExitCode.USAGE
                : new JRunCommand(commandContext, terminal).run(Arrays.asList(args));
        if (startsJob) {
            FastExit.exit(code);
        }
        FastExit.exitWithoutThreads(code);
    }

    /** The names of the variables that this process has and that may hold options of jrun. */
    private static List<String> optionVariables() {
        return System.getenv().keySet().stream()
                .filter(name -> name.matches("(JRUN|PET|PYXIS)_.*") && !name.startsWith("JRUN_HIDDEN_"))
                .toList();
    }

    /** Runs a command line. Returns its exit code. */
    int run(List<String> args) {
        try {
            return dispatch(args);
        } catch (UsageException | LayoutException e) {
            String words = String.valueOf(e.getMessage());
            if (!words.isEmpty()) { // srun has started many jruns by mistake; the first one prints the explanation
                terminal.report(words);
            }
            return ExitCode.USAGE;
        } catch (InterruptedException | IOException | RuntimeException | LinkageError e) {
            StringWriter stack = new StringWriter();
            e.printStackTrace(new PrintWriter(stack));
            terminal.report("internal error, please report it: " + stack);
            return ExitCode.INTERNAL;
        }
    }

    private int dispatch(List<String> args) throws IOException, InterruptedException {
        ParsedCommand line = ParsedCommand.of(args);
        if (line.command().isPresent()) {
            SubCommand command = line.command().get();
            return line.has(CommandOption.HELP) ? print(help(command, line.words())) : dispatch(command, line);
        }
        if (line.has(CommandOption.BRIEF_HELP) || line.has(CommandOption.WHOLE_HELP)) {
            return print(line.has(CommandOption.WHOLE_HELP) ? HelpText.full() : HelpText.brief());
        }
        if (line.has(CommandOption.VERSION)) {
            return print(versionText());
        }
        JobRequest request = JobRequest.of(line, commandContext);
        if (!DetachedLaunch.isDetachedLauncher()) {
            ContainerVariables.note(commandContext.environment()).ifPresent(terminal::report);
        }
        return request instanceof JobRequest.Detach(JobSpec job, boolean hasGeneratedId)
                        && !DetachedLaunch.isDetachedLauncher()
                ? DetachedLaunch.start(job, hasGeneratedId, args.size(), terminal)
                : run(request, line);
    }

    private int dispatch(SubCommand command, ParsedCommand line) throws IOException, InterruptedException {
        Path home = commandContext.home();
        return switch (command) {
            case HELP -> line.has(CommandOption.MANUAL) ? manual(line.words()) : help(line.words());
            case VERSION -> print(versionText());
            case CLASSPATH -> print(ClassPathCommand.run(home, line.has(CommandOption.JSON)));
            case COMPLETION -> print(HelpText.completion(line.word(""), BenchProgram.words(home)));
            case INIT ->
                print(InitCommand.run(
                        commandContext.resolve(line.word("")),
                        InitCommand.Shape.of(line.value(CommandOption.SHAPE)),
                        line.has(CommandOption.GRADLE),
                        home,
                        LocalRepository.of(
                                commandContext.environment(), Path.of(System.getProperty("user.home", "/")))));
            case FLIGHT_RECORDER ->
                print(FlightRecorderCommand.run(line.word(""), commandContext, line.has(CommandOption.JSON), index()));
            case PS, DESCRIBE, LOGS, ATTACH, CANCEL, RM, STACK ->
                new JobCommands(commandContext, terminal.out(), terminal::report).run(JobsRequest.of(command, line));
            case EXEC -> new ExecCommand(commandContext).run(ExecRequest.of(line, commandContext));
            case DASHBOARD, TOP, TRACE, REPORT ->
                new ViewCommands(commandContext, terminal).run(ViewRequest.of(command, line));
            case CUDA -> CudaCommand.run(CudaRequest.of(line), commandContext, terminal);
            case CERT -> print(CertCommand.run(CertRequest.of(line, commandContext), home));
            case IMAGE ->
                new ImageCommands(commandContext, terminal.out(), terminal::report)
                        .run(ImageRequest.of(line, commandContext));
            case DOCTOR ->
                DoctorCommand.run(DoctorRequest.of(line, commandContext), home, commandContext.command(), terminal);
            case BENCH ->
                line.has(CommandOption.VERSION)
                        ? print(versionText())
                        : bench(JobRequest.ofBench(line, commandContext), line);
            case SUBMIT -> SubmitCommand.run(SubmitRequest.of(line, commandContext), terminal);
            case AGENT -> AgentCommand.run(AgentRequest.of(line, commandContext), home, terminal);
        };
    }

    private String help(SubCommand command, List<String> words) throws IOException {
        return command == SubCommand.BENCH ? BenchProgram.help(words, commandContext.home()) : HelpText.of(command);
    }

    /** {@code jrun help [COMMAND]}. */
    private int help(List<String> words) throws IOException {
        return print(
                words.isEmpty()
                        ? HelpText.full()
                        : help(HelpText.commandOf(words.getFirst()), words.subList(1, words.size())));
    }

    /** {@code jrun help --man [COMMAND]}. */
    private int manual(List<String> words) {
        return print(HelpText.manual(words.stream().findFirst().map(HelpText::commandOf), Version.TEXT));
    }

    private int bench(JobRequest request, ParsedCommand line) throws IOException, InterruptedException {
        if (request instanceof JobRequest.Run(JobSpec job)) {
            BenchProgram.check(job, commandContext.home());
        } else if (request instanceof JobRequest.RunUnderMpi(JobSpec job)) {
            BenchProgram.check(job, commandContext.home());
        }
        return run(request, line);
    }

    private int run(JobRequest request, ParsedCommand line) throws IOException, InterruptedException {
        return switch (request) {
            case JobRequest.RunUnderMpi(JobSpec job) ->
                MpiJobRun.run(
                        job,
                        commandContext.home(),
                        System.getProperty("user.name", "").equals("root"));
            case JobRequest.Run(JobSpec job)
            when job.dryRun() -> print(String.join("\n", DryRunCommand.describe(job, commandContext.home())));
            case JobRequest.Run(JobSpec job) -> start(job, line);
            case JobRequest.Detach(JobSpec job, boolean _) -> start(job, line);
        };
    }

    private int start(JobSpec job, ParsedCommand line) throws IOException, InterruptedException {
        fetchBlas(job);
        TemporaryFolderCheck.problem(commandContext.environment(), System.getProperty("java.io.tmpdir"))
                .ifPresent(terminal::report);
        try (JobRun run = new JobRun(job, line.withoutSecrets(), commandContext.home(), index(), terminal)) {
            return job.rendezvous().isPresent()
                    ? new RendezvousRun(job, job.rendezvous().get(), commandContext.home(), run).run()
                    : run.run();
        }
    }

    /** Fetches the jars of MKL, if the job needs jars that this user has not fetched yet. */
    private void fetchBlas(JobSpec job) throws IOException, InterruptedException {
        MklJars mkl = MklJars.of(commandContext.environment());
        if (job.program() instanceof Program.JavaProgram program
                && program.classPath().contains(mkl.paths().getFirst().toString())) {
            mkl.fetch(commandContext.environment(), terminal::report);
        }
    }

    private Optional<JobIndex> index() {
        return commandContext.stateFolder().map(JobIndex::in);
    }

    private static String versionText() {
        return "jrun " + Version.TEXT + " (Java " + Runtime.version() + ", " + System.getProperty("os.name") + " "
                + System.getProperty("os.arch") + ")";
    }

    private int print(String text) {
        terminal.print(text);
        return 0;
    }
}
