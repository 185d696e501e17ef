package io.jrun.comm;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class CommArchitectureTest {
    private static final JavaClasses COMM = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.jrun.comm");

    @Test
    void nothingButTheJdkIsNeededAtRunTime() {
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "io.jrun.comm..",
                        "java..",
                        "javax.crypto..",
                        "javax.net..",
                        "jdk.incubator.vector..",
                        "org.jspecify.annotations..")
                .check(COMM);
    }

    @Test
    void packagesFormNoCircle() {
        slices().matching("io.jrun.(**)").should().beFreeOfCycles().check(COMM);
    }

    @Test
    void programsSeeWhatStandsBelowTheRuntime() {
        noClasses()
                .that()
                .resideInAPackage("io.jrun.comm")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.jrun.comm.*..")
                .check(COMM);
    }

    @Test
    void dataPlanesKnowTheSpiAndNotEachOther() {
        noClasses()
                .that()
                .resideInAPackage("io.jrun.comm.shm..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.jrun.comm.tcp..",
                        "io.jrun.comm.collective..",
                        "io.jrun.comm.local..",
                        "io.jrun.comm.worker..")
                .check(COMM);
        noClasses()
                .that()
                .resideInAnyPackage("io.jrun.comm.backend..", "io.jrun.comm.kernel..", "io.jrun.comm.control..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.jrun.comm.shm..", "io.jrun.comm.tcp..", "io.jrun.comm.collective..")
                .check(COMM);
    }

    @Test
    void onlyTheWaysInReadTheEnvironment() {
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName("io.jrun.comm.join.RuntimeWorldProvider")
                .and()
                .doNotHaveFullyQualifiedName("io.jrun.comm.worker.ErrorRecord")
                .should()
                .callMethod(System.class, "getenv")
                .orShould()
                .callMethod(System.class, "getenv", String.class)
                .check(COMM);
    }
}
