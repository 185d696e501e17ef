package io.jrun.launcher;

import io.jrun.launcher.cli.AgentRequest;
import io.jrun.launcher.cli.CertRequest;
import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.DoctorRequest;
import io.jrun.launcher.cli.FlightRequest;
import io.jrun.launcher.cli.HelpText;
import io.jrun.launcher.cli.InitRequest;
import io.jrun.launcher.cli.JobRequest;
import io.jrun.launcher.cli.JobsRequest;
import io.jrun.launcher.cli.SubCommand;
import io.jrun.launcher.cli.SubmitRequest;
import io.jrun.launcher.cli.TypedCommand;
import io.jrun.launcher.cli.UsageException;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.TerminalStreams;
import io.jrun.launcher.jobs.JobCommands;
import io.jrun.launcher.layout.LayoutException;
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
import java.util.stream.Stream;

/** The {@code jrun} command. scripts/jrun starts this class with the properties below. */
public final class JRunCommand {
    /** The folder of the installation. */
    private static final String HOME_PROPERTY = "jrun.home";

    /** The path of scripts/jrun. */
    private static final String COMMAND_PROPERTY = "jrun.command";

    /** Which of jrun's streams are terminals, as found by scripts/jrun: "out", "err", both, or neither. */
    private static final String TERMINAL_PROPERTY = "jrun.tty";

    private final CommandContext commandContext;
    private final Terminal terminal;

    JRunCommand(CommandContext commandContext, Terminal terminal) {
        this.commandContext = commandContext;
        this.terminal = terminal;
    }

    /** Runs a command line and ends the process with its exit code. */
    public static void main(String[] args) {
        Prewarm.begin();
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
        String archiveTraining = System.getProperty(ArchiveTraining.PROPERTY);
        if (archiveTraining != null) {
            ArchiveTraining.run(archiveTraining, commandContext);
            return;
        }
        FastExit.exit(new JRunCommand(commandContext, terminal).run(Arrays.asList(args)));
    }

    /** Runs a command line. Returns its exit code. */
    int run(List<String> args) {
        try {
            return dispatch(args);
        } catch (UsageException | LayoutException e) {
            String words = String.valueOf(e.getMessage());
            if (!words.isEmpty()) { // srun has started many jruns by mistake; the first one prints the explanation
                terminal.say(words);
            }
            return ExitCode.USAGE;
        } catch (InterruptedException | IOException | RuntimeException | LinkageError e) {
            StringWriter stack = new StringWriter();
            e.printStackTrace(new PrintWriter(stack));
            terminal.say("internal error, please report it: " + stack);
            return ExitCode.INTERNAL;
        }
    }

    private int dispatch(List<String> args) throws IOException, InterruptedException {
        Optional<SubCommand> subCommand = args.isEmpty() ? Optional.empty() : SubCommand.of(args.getFirst());
        if (subCommand.isEmpty()) {
            JobRequest request = JobRequest.parse(args, commandContext);
            return request instanceof JobRequest.Detach(JobSpec job) && !DetachedLaunch.isDetachedLauncher()
                    ? DetachedLaunch.start(job, args.size(), terminal)
                    : run(request, args);
        }
        List<String> rest = args.subList(1, args.size());
        return asksForHelp(subCommand.get(), rest)
                ? print(help(subCommand.get(), rest))
                : dispatch(subCommand.get(), rest);
    }

    private int dispatch(SubCommand command, List<String> args) throws IOException, InterruptedException {
        return switch (command) {
            case HELP -> help(args);
            case VERSION -> {
                refuseWords(command, args);
                yield print(versionText());
            }
            case COMPLETION -> {
                refuseWords(command, args);
                yield print(HelpText.completion(BenchProgram.words(commandContext.home())));
            }
            case INIT -> print(InitCommand.run(InitRequest.parse(args, commandContext), commandContext.home()));
            case FLIGHT_RECORDER ->
                print(FlightRecorderCommand.run(FlightRequest.parse(args, commandContext), index()));
            case PS, DESCRIBE, LOGS, ATTACH, CANCEL, STACK ->
                new JobCommands(commandContext, terminal.out(), terminal::say).run(JobsRequest.parse(command, args));
            case CERT -> print(CertCommand.run(CertRequest.parse(args, commandContext), commandContext.home()));
            case DOCTOR ->
                DoctorCommand.run(DoctorRequest.parse(args, commandContext), commandContext.home(), terminal);
            case BENCH ->
                args.contains("-V") || args.contains("--version")
                        ? print(versionText())
                        : bench(JobRequest.parseBench(args, commandContext), args);
            case SUBMIT -> SubmitCommand.run(SubmitRequest.parse(args, commandContext), terminal);
            case AGENT -> AgentCommand.run(AgentRequest.parse(args, commandContext), commandContext.home(), terminal);
        };
    }

    /** Whether {@code args} of {@code command} have its help option. Of a job to submit, words after PROGRAM are its own. */
    private static boolean asksForHelp(SubCommand command, List<String> args) {
        return command == SubCommand.SUBMIT
                ? SubmitRequest.asksForHelp(args)
                : args.contains("-h") || args.contains("--help");
    }

    private String help(SubCommand command, List<String> args) throws IOException {
        return switch (command) {
            case HELP, VERSION, COMPLETION -> HelpText.ofWordlessCommand(command);
            case INIT -> InitRequest.help();
            case FLIGHT_RECORDER -> FlightRequest.help();
            case PS, DESCRIBE, LOGS, ATTACH, CANCEL, STACK -> JobsRequest.help(command);
            case CERT -> CertRequest.help();
            case DOCTOR -> DoctorRequest.help();
            case BENCH -> BenchProgram.help(args, commandContext.home());
            case SUBMIT -> SubmitRequest.help();
            case AGENT -> AgentRequest.help();
        };
    }

    /** {@code jrun help [COMMAND]}. */
    private int help(List<String> args) throws IOException {
        if (args.isEmpty()) {
            return print(HelpText.full());
        }
        return print(help(HelpText.commandOf(args.getFirst()), args.subList(1, args.size())));
    }

    private int bench(JobRequest request, List<String> args) throws IOException, InterruptedException {
        if (request instanceof JobRequest.Run(JobSpec job)) {
            BenchProgram.check(job, commandContext.home());
        } else if (request instanceof JobRequest.RunUnderMpi(JobSpec job)) {
            BenchProgram.check(job, commandContext.home());
        }
        return run(request, Stream.concat(Stream.of("bench"), args.stream()).toList());
    }

    private int run(JobRequest request, List<String> args) throws IOException, InterruptedException {
        return switch (request) {
            case JobRequest.Help(boolean brief) -> print(brief ? HelpText.brief() : HelpText.full());
            case JobRequest.Version() -> print(versionText());
            case JobRequest.RunUnderMpi(JobSpec job) ->
                MpiJobRun.run(
                        job,
                        commandContext.home(),
                        System.getProperty("user.name", "").equals("root"));
            case JobRequest.Run(JobSpec job)
            when job.dryRun() -> print(String.join("\n", DryRunCommand.describe(job, commandContext.home())));
            case JobRequest.Run(JobSpec job) -> start(job, args);
            case JobRequest.Detach(JobSpec job) -> start(job, args);
        };
    }

    private int start(JobSpec job, List<String> args) throws IOException, InterruptedException {
        try (JobRun run = new JobRun(job, TypedCommand.of(args), commandContext.home(), index(), terminal)) {
            return job.meeting().isPresent()
                    ? new RendezvousRun(job, job.meeting().get(), commandContext.home(), run).run()
                    : run.run();
        }
    }

    private static void refuseWords(SubCommand command, List<String> args) {
        if (!args.isEmpty()) {
            throw new UsageException(
                    "'" + args.getFirst() + "' is one word too many; usage: jrun " + command.word() + ".");
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
