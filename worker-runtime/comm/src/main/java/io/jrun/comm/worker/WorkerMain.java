package io.jrun.comm.worker;

import io.jrun.comm.CommException;
import io.jrun.comm.Distributed;
import io.jrun.comm.WorkerSetup;
import io.jrun.comm.control.OpenChannels;
import io.jrun.comm.flight.OpenDumps;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Runs the user's main class in a worker process: {@code WorkerMain MAIN_CLASS ARGS...}. An exception that ends main or
 * another thread is written to the error record and to stderr, and the process exits with code 1. When main returns,
 * the other ranks are notified that this rank takes part in no further operation.
 */
public final class WorkerMain {
    private static final int FAILED = 1;
    private static final int USAGE = 2;

    private WorkerMain() {}

    /** Runs the worker. */
    public static void main(String[] args) {
        if (args.length == 0) {
            fail("usage: WorkerMain MAIN_CLASS [ARGS...]");
            return;
        }
        ErrorRecord record = ErrorRecord.ofProcess();
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> end(record, thread, failure));
        checkEnvironment();
        prepare(System.getProperty(WorkerSetup.PROPERTY));
        MainMethod main = mainOf(args[0]);
        if (main != null && invoke(main, Arrays.copyOfRange(args, 1, args.length), record)) {
            OpenDumps.worldsClosed();
            OpenChannels.leaveAll();
            LingeringThreads.watch();
        }
    }

    private static void checkEnvironment() {
        try {
            Distributed.checkEnvironment();
        } catch (CommException e) {
            fail(String.valueOf(e.getMessage()));
        }
    }

    /** Prepares the process. A class path with only the comm module has no setup class. */
    private static void prepare(@Nullable String setupClass) {
        if (setupClass == null) {
            return;
        }
        try {
            Class<?> setup = Class.forName(setupClass);
            ((WorkerSetup) setup.getDeclaredConstructor().newInstance()).prepare();
        } catch (ClassNotFoundException _) {
            return;
        } catch (IllegalArgumentException e) {
            fail(String.valueOf(e.getMessage()));
        } catch (ReflectiveOperationException | ClassCastException e) {
            fail("-D" + WorkerSetup.PROPERTY + "=" + setupClass + " cannot be used: " + e);
        }
    }

    private static @Nullable MainMethod mainOf(String className) {
        try {
            return MainMethod.of(Class.forName(className, false, ClassLoader.getSystemClassLoader()));
        } catch (ClassNotFoundException | NoClassDefFoundError e) {
            end(FAILED, "cannot load the main class " + className + ": " + e + ". Check --main-class and --classpath.");
        } catch (NoSuchMethodException e) {
            end(FAILED, String.valueOf(e.getMessage()));
        }
        return null;
    }

    private static boolean invoke(MainMethod main, String[] args, ErrorRecord record) {
        try {
            main.invoke(args);
            return true;
        } catch (InvocationTargetException e) {
            end(record, Thread.currentThread(), e.getCause() == null ? e : e.getCause());
        } catch (IllegalAccessException e) {
            fail("cannot call the main method: " + e.getMessage());
        }
        return false;
    }

    /** Ends the process at the first failure. System.exit blocks all later callers until the process ends. */
    private static void end(ErrorRecord record, Thread thread, Throwable failure) {
        try {
            OpenChannels.fail();
            FailureText text = FailureText.of(failure);
            record.write(failure, text);
            System.err.print("Exception in thread \"" + thread.getName() + "\" " + text.shortText());
            System.err.flush();
            System.out.flush();
            OpenDumps.begin(failure.toString());
        } finally {
            if (failure instanceof OutOfMemoryError) {
                OpenDumps.await();
                // Shutdown hooks may need memory too. The process would then hang.
                Runtime.getRuntime().halt(FAILED);
            }
            System.exit(FAILED);
        }
    }

    private static void fail(String message) {
        end(USAGE, message);
    }

    private static void end(int exitCode, String message) {
        System.err.println("jrun: " + message);
        System.exit(exitCode);
    }
}
