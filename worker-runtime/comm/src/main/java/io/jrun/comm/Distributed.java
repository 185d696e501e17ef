package io.jrun.comm;

/** Joins this process to its job. */
public final class Distributed {
    /**
     * The name of the runtime's class. This package is below the runtime and cannot refer to the class. A ServiceLoader
     * would open each jar of the class path.
     */
    private static final WorldProvider PROVIDER = provider(".join.RuntimeWorldProvider");

    private Distributed() {}

    /**
     * Joins the job and returns when every rank has joined. A process that jrun did not start is a world of one rank.
     * Exception: if MPI started the process (mpirun, srun --mpi=pmix), the world is the MPI world; such a world has no
     * store and no reports of departed ranks.
     *
     * <p>Call the method once per process, and close the world at the end. If the agent of this node vanishes, the
     * process writes a message to stderr and halts with exit code 1, because a worker must not outlive its job.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT if not all ranks have joined before the deadline; ABORTED if the job
     *     stops before all ranks have joined; USAGE if the environment is invalid, or if the agent refuses this process
     *     (for example at a second call); SYSTEM if the agent cannot be reached
     */
    public static World init() {
        return PROVIDER.init();
    }

    /**
     * Checks the environment variables that {@link #init()} reads, so that a program can fail before its work begins.
     *
     * @throws CommException USAGE under the conditions of {@link #init()}
     */
    public static void checkEnvironment() {
        PROVIDER.checkEnvironment();
    }

    /**
     * Joins as {@link #init()} does, for a process that can continue in another round after this round fails. Programs
     * use {@code Elastic} instead.
     */
    public static Rounds rounds() {
        return PROVIDER.rounds();
    }

    private static WorldProvider provider(String name) {
        String className = Distributed.class.getPackageName() + name;
        try {
            return Class.forName(className)
                    .asSubclass(WorldProvider.class)
                    .getDeclaredConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("jrun's runtime is incomplete: " + className + " cannot be loaded", e);
        }
    }
}
