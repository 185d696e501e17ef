package io.jrun.launcher.cli;

import java.util.List;

/** The operands of a command: the words besides its options. */
enum Operand {
    /** A command without operands. */
    NONE("", false, 0, ""),
    /** The operand of {@code jrun help}. */
    COMMAND("[COMMAND]", false, Integer.MAX_VALUE, "Name of a command. Default: the help of jrun itself."),
    /** The operand of {@code jrun completion}. */
    SHELL("[bash|zsh|fish]", false, 1, "The shell. Default: bash and zsh."),
    /** The operand of {@code jrun init}. */
    NEW_FOLDER("DIR", true, 1, "A new or an empty folder. The name of the folder becomes the name of the project."),
    /** The operand of the commands about a job. */
    JOB(
            "JOB",
            true,
            1,
            "Run id of the job, the beginning of one, or the log folder of the job. 'jrun ps' shows the jobs."),
    /** The operands of {@code jrun rm}. */
    JOBS("[JOB...]", false, Integer.MAX_VALUE, "As in 'jrun describe'."),
    /** The operands of {@code jrun exec}. */
    RANK_COMMAND(
            "JOB [RANK] [COMMAND [args...]]",
            true,
            Integer.MAX_VALUE,
            "JOB as in 'jrun describe'. RANK: the worker. Default: 0. COMMAND: Default: sh."),
    /** The operand of {@code jrun top}. */
    ONE_OR_ALL_JOBS("[JOB]", false, 1, "As in 'jrun describe'. Default: the running jobs."),
    /** The operand of {@code jrun flight-recorder}. */
    DUMPS(
            "JOB",
            true,
            1,
            "Run id of the job, its log folder LOG_DIR/RUN_ID (the last attempt counts), or one of its attempt folders."
                    + " The folder of a rank shows the dump of this rank alone."),
    /** The operands of {@code jrun cert}. */
    AUTHORITY(
            "init|node NAME",
            false,
            2,
            "init: make an authority, DIR/ca.pem. Keep the file where you admit hosts and users. node NAME: make"
                    + " DIR/NAME.pem, the --secret-file of the host or user NAME. Add the other names and addresses of"
                    + " a host after commas: the names by which launchers call the host."),
    /** The operands of {@code jrun image}. */
    IMAGES(
            "ls|pull|import|inspect|create|rm|prune [IMAGE...]",
            false,
            Integer.MAX_VALUE,
            "ls: list the images in the cache of this node. pull IMAGE: bring an image into the cache. import IMAGE:"
                    + " make a .sqsh file of an image. inspect IMAGE: show the settings of"
                    + " an image. create FILE: make the"
                    + " .sqsh file FILE. rm IMAGE...: remove images from the cache. prune: remove the images that are"
                    + " no longer used. An IMAGE is a value of --container-image, or the beginning of a digest."),
    /** The operand of {@code jrun cuda}. */
    CUDA_ACTION(
            "install|status|rm",
            false,
            1,
            "install: fetch libtorch's CUDA build (458 MB) with Maven, into the cache of this user. Workers on GPUs then"
                    + " use the build. status: show which build the workers of this machine use, the driver, CUDA, cuDNN"
                    + " and NCCL, and what is missing. rm: remove the build, and its unpacked libraries on this node."),
    /** The operands of {@code jrun bench}. The benchmark program parses them. */
    BENCHMARK("OPERATION", false, Integer.MAX_VALUE, ""),
    /** The operands of a job. A job file may hold the program. */
    PROGRAM("PROGRAM [args...]", false, Integer.MAX_VALUE, "");

    private final String label;
    private final boolean needed;
    private final int most;
    private final String description;

    Operand(String label, boolean needed, int most, String description) {
        this.label = label;
        this.needed = needed;
        this.most = most;
        this.description = description;
    }

    String label() {
        return label;
    }

    /** The words that the first word may be, such as ls and pull; empty if it may be another word. */
    List<String> words() {
        String first = label.replaceFirst("^\\[", "").split("[\\] ]", 2)[0];
        return first.contains("|") ? List.of(first.split("\\|", -1)) : List.of();
    }

    /** Whether the command needs a word. The parser checks this. */
    boolean isNeeded() {
        return needed;
    }

    /** The largest number of words. */
    int most() {
        return most;
    }

    String description() {
        return description;
    }

    /** Whether the word is a job. */
    boolean isJob() {
        return this == JOB || this == ONE_OR_ALL_JOBS || this == JOBS || this == RANK_COMMAND;
    }

    /** Whether all words from the first on belong to the program, also words with dashes. */
    boolean endsOptions() {
        return this == PROGRAM || this == RANK_COMMAND;
    }

    /** Whether options that jrun does not know belong to the operand. */
    boolean takesUnknownOptions() {
        return this == BENCHMARK;
    }
}
