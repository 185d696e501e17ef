package io.jrun.launcher.cli;

import java.util.List;

/**
 * All options of jrun's commands that are not options of a job. {@link SubCommand} lists the options of each command.
 */
public enum CommandOption implements CommandLineOption {
    /** Shows the help of a command. */
    HELP("-h --help", "", "Show this help."),
    /** Shows a manual page. */
    MANUAL("--man", "", "Print a manual page: jrun help --man logs | man -l -"),
    /** Shows the help of jrun that fits a screen. */
    BRIEF_HELP("-h", "", "Show a brief help."),
    /** Shows the whole help of jrun. */
    WHOLE_HELP("--help", "", "Show this help."),
    /** Shows the version. */
    VERSION("-V --version", "", "Show the version."),
    /** A project of Gradle. */
    GRADLE("--gradle", "", "Make a Gradle project: build.gradle.kts instead of a pom."),
    /** The program of a project. */
    SHAPE(
            "--shape",
            "SHAPE",
            "The program: ddp (a loop with DistributedDataParallel), mesh (a loop in which the ranks share states and"
                    + " layers, with checkpoints) or trainer (a model and one call; the program has the options of"
                    + " the trainer). Default: ddp."),
    /** Lists ended jobs too. */
    ALL("-a --all", "", "List the jobs that have ended too."),
    /** Prints JSON. */
    JSON("--json", "", "Print one JSON object instead of text."),
    /** Follows the output. */
    FOLLOW("-f --follow", "", "Follow the output until the job ends."),
    /** The end of the output only. */
    TAIL("--tail", "N", "Only the last N lines of each worker's stdout and of its stderr. Default: all lines."),
    /** The output for errors only. */
    STDERR("--stderr", "", "Only stderr."),
    /** The begin of the output. */
    SINCE("--since", "TIME", "Only output of the last TIME (90s, 10m, 2h), or since a time: 2026-11-26T09:30."),
    /** Times of lines. */
    TIMESTAMPS("--timestamps", "", "Show before each line the second at which the worker wrote the line, in UTC."),
    /** Old jobs. */
    ENDED_BEFORE("--older-than", "DAYS", "All jobs that ended more than this number of days ago, besides JOB."),
    /** A worker without a record. */
    HERE(
            "--here",
            "",
            "The worker is on this host, and JOB is its whole run id. Without this option jrun looks for the"
                    + " worker on this host, and else calls jrun on the worker's host by ssh."),
    /** Stops without the grace period. */
    NOW("--now", "", "Send SIGKILL at once, without the grace period."),
    /** Chooses ranks. */
    RANK("--rank", "RANKS", "Only these ranks: 0,2-5. Default: all ranks."),
    /** The port of the dashboard. */
    PORT("--port", "N", "Port of the page. Default: a free port."),
    /** The address of the dashboard. */
    HOST(
            "--host",
            "ADDRESS",
            "Name or address at which the page is served; 0.0.0.0: all addresses of this host. Other hosts can then"
                    + " reach the page, so --tls-certificate and --tls-key are needed. Default: 127.0.0.1."),
    /** The certificate of the dashboard. */
    TLS_CERTIFICATE(
            "--tls-certificate",
            "FILE",
            "Serve over TLS with this certificate: a PEM file, the host's own certificate first."),
    /** The key of the dashboard. */
    TLS_KEY("--tls-key", "FILE", "The private key of --tls-certificate: a PEM file (PKCS #8), without a password."),
    /** Leaves the browser alone. */
    NO_OPEN("--no-open", "", "Only print the URL; open no browser."),
    /** The file that a command writes. */
    RESULT_FILE("-o --output", "FILE", "File to write; - is stdout. Default: RUN_ID.trace.json or RUN_ID.report.html."),
    /** The folder of certificates. */
    DIR("--dir", "DIR", "Folder of the authority. Default: ~/.config/jrun."),
    /** The days for which a certificate is valid. */
    DAYS("--days", "N", "Number of days for which the certificate is valid. Default: 825."),
    /** The secret of a standing agent. */
    AGENT_SECRET_FILE(
            "--secret-file",
            "PATH",
            "Secret that the agents of all hosts and their users share: a file of mode 0600, the same on every host."
                    + " The agent makes the file if it does not exist. Default: ~/.config/jrun/secret."),
    /** The address at which a standing agent listens. */
    LISTEN(
            "--listen",
            "ADDRESS:PORT",
            "Address at which the agent listens. 0.0.0.0: all addresses of this host. :PORT: all addresses, at this"
                    + " port. Port 0: any free port, which the agent prints. Default: 127.0.0.1:29600."),
    /** The launcher of an agent that serves one job. */
    LAUNCHER(
            "--launcher",
            "ADDRESS:PORT,...",
            "Connect to the jrun that listens at one of these addresses, serve its job and end with the job. The first"
                    + " line of stdin is the secret of the job. jrun itself starts agents this way."),
    /** The name of an agent in its one job. */
    NODE("--node", "NAME", "With --launcher: the name of this node in the job."),
    /** CUDA's own libraries. */
    WITH_LIBRARIES(
            "--with-libraries",
            "",
            "install: fetch CUDA's own libraries too (about 3 GB), for machines without CUDA 13, cuDNN 9 and NCCL."),
    /** The installation instead of the cache of the user. */
    SHARED("--shared", "", "install, rm: the installation of jrun, for all its users, instead of this user's cache."),
    /** The .sqsh file of an image. */
    OUTPUT("-o --output", "FILE", "import: the .sqsh file to make. Default: NAME+TAG.sqsh in the working folder."),
    /** The root folder of a new image. */
    ROOTFS("--rootfs", "DIR", "create: make the image of this root folder."),
    /** A Debian image. */
    DEBIAN(
            "--debian",
            "SUITE",
            "create: make the image of a minimal Debian, such as bookworm, and a JDK. Needs"
                    + " mmdebstrap and a mirror of Debian."),
    /** More packages of a Debian image. */
    PACKAGES("--packages", "NAME,...", "create, with --debian: more packages of Debian."),
    /** The age below which images are kept. */
    OLDER_THAN(
            "--older-than",
            "DAYS",
            "prune: remove images that no job or command has used for this number of days. 0: all images that no"
                    + " job uses now."
                    + " Default: 30."),
    /** The scheduler. */
    TO(
            "--to",
            "slurm|kubernetes|jobset",
            "Scheduler. kubernetes: print an Indexed Job for 'kubectl apply -f -'; jobset: a JobSet. Default: slurm."),
    /** The image of pods. */
    POD_IMAGE("--image", "IMAGE", "With --to=kubernetes or jobset: the image of the pods, with jrun and the program."),
    /** Shows a batch script. */
    PRINT("--print", "", "Print the batch script and submit nothing. --dry-run does the same.");

    @SuppressWarnings("ImmutableEnumChecker") // made by List.of
    private final List<String> names;

    private final String parameter;
    private final String description;

    CommandOption(String names, String parameter, String description) {
        this.names = List.of(names.split(" "));
        this.parameter = parameter;
        this.description = description;
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public String parameter() {
        return parameter;
    }

    @Override
    public String description() {
        return description;
    }
}
