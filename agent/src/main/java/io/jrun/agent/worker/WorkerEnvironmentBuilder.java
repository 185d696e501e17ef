package io.jrun.agent.worker;

import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.Variable;
import io.jrun.agent.proto.WorkerSpec;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Computes the environment of a worker. Pure. Later parts override earlier parts: the environment of the agent, jrun's
 * defaults, the user's {@code --env}, the rank variables. Source of the names: torch/distributed/run.py and
 * elastic/agent/server/local_elastic_agent.py.
 */
public final class WorkerEnvironmentBuilder {
    /** The value of LC_ALL before scripts/jrun set it for the launcher's JVM; empty if it was not set. */
    public static final String ORIGINAL_LC_ALL = "JRUN_LC_ALL";

    private static final String OMP_NUM_THREADS = "OMP_NUM_THREADS";
    private static final String CUDA_VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES";

    private WorkerEnvironmentBuilder() {}

    /** Returns all variables of one worker. */
    public static Map<String, String> compose(LaunchRound launch, WorkerSpec worker, LaunchContext context) {
        Map<String, String> env = new HashMap<>(context.inherited());
        locale(env, launch);
        if (!hasThreads(launch, context)) {
            env.put(OMP_NUM_THREADS, Integer.toString(threads(launch, context)));
        }
        env.putIfAbsent("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
        if (launch.getProgram().hasJava()) {
            MallocVariables.addTo(env);
        }
        device(env, worker);
        env.putAll(chosen(launch));
        utf8ForJava(env, launch);
        ranks(env, launch, worker);
        elastic(env, launch, context);
        jrun(env, launch, worker, context);
        return new TreeMap<>(env);
    }

    /** Whether the user has chosen OMP_NUM_THREADS. */
    private static boolean hasThreads(LaunchRound launch, LaunchContext context) {
        return context.inherited().containsKey(OMP_NUM_THREADS)
                || chosen(launch).containsKey(OMP_NUM_THREADS);
    }

    /** Returns the variables of {@code --env}. If a name occurs twice, the last value counts. */
    static Map<String, String> chosen(LaunchRound launch) {
        Map<String, String> chosen = new HashMap<>();
        for (Variable variable : launch.getEnvList()) {
            chosen.put(variable.getName(), variable.getValue());
        }
        return chosen;
    }

    private static int threads(LaunchRound launch, LaunchContext context) {
        return Math.max(1, context.node().cores() / Math.max(1, launch.getWorkersCount()));
    }

    private static void ranks(Map<String, String> env, LaunchRound launch, WorkerSpec worker) {
        int localRank = launch.getVirtualLocalRank() ? 0 : worker.getLocalRank();
        put(env, "LOCAL_RANK", localRank);
        put(env, "RANK", worker.getRank());
        put(env, "GROUP_RANK", launch.getNodeRank());
        put(env, "ROLE_RANK", worker.getRank());
        env.put("ROLE_NAME", launch.getRole().isEmpty() ? "default" : launch.getRole());
        put(env, "LOCAL_WORLD_SIZE", launch.getWorkersCount());
        put(env, "WORLD_SIZE", launch.getWorldSize());
        put(env, "GROUP_WORLD_SIZE", launch.getNodeCount());
        put(env, "ROLE_WORLD_SIZE", launch.getWorldSize());
        env.put("MASTER_ADDR", launch.getMasterAddress());
        put(env, "MASTER_PORT", launch.getMasterPort());
    }

    private static void elastic(Map<String, String> env, LaunchRound launch, LaunchContext context) {
        put(env, "TORCHELASTIC_RESTART_COUNT", launch.getRestartCount());
        put(env, "TORCHELASTIC_MAX_RESTARTS", launch.getMaxRestarts());
        env.put("TORCHELASTIC_RUN_ID", context.runId());
        env.put("TORCHELASTIC_USE_AGENT_STORE", "False");
    }

    private static void jrun(Map<String, String> env, LaunchRound launch, WorkerSpec worker, LaunchContext context) {
        String logDir = context.rankLogDir(launch, worker.getRank()).toString();
        String errorFile = logDir + "/error.json";
        env.put("TORCHELASTIC_ERROR_FILE", errorFile);
        env.put("JRUN_ERROR_FILE", errorFile);
        env.put("JRUN_LOG_DIR", logDir);
        env.put("JRUN_RUN_ID", context.runId());
        put(env, "JRUN_ROUND", launch.getRound());
        env.put("JRUN_AGENT_SOCKET", context.socket().toString());
        env.remove("JRUN_WORKER_TOKEN"); // of an outer job
        env.put("JRUN_HOST", context.node().host());
        put(env, "JRUN_NODE_CORES", context.node().cores());
        if (launch.getWholeTimelines()) {
            env.put("JRUN_TIMELINE", "whole");
        } else {
            env.remove("JRUN_TIMELINE"); // of an outer job
        }
        if (worker.getConsoleStdout() && worker.getTerminalStdout()) {
            env.put("JRUN_CONSOLE", "terminal");
        } else {
            env.remove("JRUN_CONSOLE"); // of an outer job
        }
    }

    private static void device(Map<String, String> env, WorkerSpec worker) {
        if (!worker.getGpu().isEmpty()) {
            env.put(CUDA_VISIBLE_DEVICES, worker.getGpu());
        }
    }

    /** Restores the user's LC_ALL for other programs. The value of scripts/jrun is for the launcher's JVM. */
    private static void locale(Map<String, String> env, LaunchRound launch) {
        String original = env.remove(ORIGINAL_LC_ALL);
        if (original == null || launch.getProgram().hasJava()) {
            return;
        }
        if (original.isEmpty()) {
            env.remove("LC_ALL");
        } else {
            env.put("LC_ALL", original);
        }
    }

    /**
     * Sets a UTF-8 locale for Java programs. A JVM decodes arguments, environment and file names by the locale, and
     * replaces each byte beyond ASCII by a question mark in the C locale.
     */
    private static void utf8ForJava(Map<String, String> env, LaunchRound launch) {
        if (launch.getProgram().hasJava() && !isUtf8(env)) {
            env.put("LC_ALL", "C.UTF-8");
        }
    }

    private static boolean isUtf8(Map<String, String> env) {
        for (String name : new String[] {"LC_ALL", "LC_CTYPE", "LANG"}) {
            String value = env.getOrDefault(name, "").toLowerCase(Locale.ROOT);
            if (!value.isEmpty()) {
                return value.contains("utf-8") || value.contains("utf8");
            }
        }
        return false;
    }

    private static void put(Map<String, String> env, String name, int value) {
        env.put(name, Integer.toString(value));
    }
}
