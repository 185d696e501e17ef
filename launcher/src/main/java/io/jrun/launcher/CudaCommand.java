package io.jrun.launcher;

import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.CudaRequest;
import io.jrun.launcher.cuda.CudaFiles;
import io.jrun.launcher.doctor.Doctor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** {@code jrun cuda}: brings libtorch's CUDA build, shows what workers on GPUs need, and removes the build. */
final class CudaCommand {
    private CudaCommand() {}

    /** Runs the command. Returns the exit code: 0, or 1 if the status shows a problem. */
    static int run(CudaRequest request, CommandContext context, Terminal terminal)
            throws IOException, InterruptedException {
        return switch (request.action()) {
            case INSTALL -> {
                files(request, context).install(context.environment(), request.withLibraries(), terminal::report);
                yield show(Doctor.examineCuda(context.home()), false, terminal);
            }
            case STATUS -> show(Doctor.examineCuda(context.home()), request.json(), terminal);
            case RM -> {
                List<Path> removed = files(request, context).remove();
                removed.forEach(path -> terminal.print("removed " + path));
                if (removed.isEmpty()) {
                    terminal.print("nothing to remove: "
                            + files(request, context).archive().jar() + " does not exist");
                }
                yield 0;
            }
        };
    }

    private static CudaFiles files(CudaRequest request, CommandContext context) throws IOException {
        return request.isShared()
                ? CudaFiles.ofInstallation(context.home())
                : CudaFiles.ofUser(context.home(), context.environment());
    }

    private static int show(Doctor status, boolean json, Terminal terminal) {
        terminal.print(json ? status.json() : String.join("\n", status.lines()));
        return status.exitCode();
    }
}
